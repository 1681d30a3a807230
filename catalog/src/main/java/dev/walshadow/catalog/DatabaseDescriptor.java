package dev.walshadow.catalog;

import java.util.List;

/**
 * A database of the cluster at a position. In the {@link DescriptorLog} it is a relation of no
 * database (OID 0) of kind {@link #KIND}, so that it has a history and one capture can hold a
 * database together with its relations.
 *
 * @param encoding PostgreSQL's name, e.g. {@code UTF8}
 * @param tablespaceOid where relations are that name no tablespace
 * @param followed whether its relations are in the log from this position on
 */
public record DatabaseDescriptor(
        int oid, String name, String encoding, int tablespaceOid, boolean followed) {
    /** A kind that no relation of PostgreSQL has. */
    public static final char KIND = 'D';

    public DatabaseDescriptor withFollowed(boolean now) {
        return new DatabaseDescriptor(oid, name, encoding, tablespaceOid, now);
    }

    /** As the log has it. */
    public RelationDescriptor asRelation() {
        return new RelationDescriptor(
                oid,
                0,
                new RelationName(encoding, name),
                KIND,
                't',
                null,
                0,
                0,
                'n',
                followed ? "followed" : "",
                0,
                List.of(),
                List.of(tablespaceOid),
                List.of(),
                List.of());
    }

    /** What {@link #asRelation} made. */
    public static DatabaseDescriptor of(RelationDescriptor relation) {
        return new DatabaseDescriptor(
                relation.oid(),
                relation.name().name(),
                relation.name().schema(),
                relation.primaryKey().getFirst(),
                !relation.accessMethod().isEmpty());
    }
}
