package dev.walshadow.pipeline.mapping;

import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The names of walshadow's own columns. Where a user's column has such a name, ours gets further
 * leading underscores until it is free.
 *
 * @param leaf under a partitioned table: the OID of the partition that the row is in, else null
 * @param tid where the row lies in the source's heap; the key of a table without another, else null
 */
public record MetaColumns(
        String version,
        String isDeleted,
        String commitTimestamp,
        String xid,
        String commitLsn,
        String lsn,
        @Nullable String leaf,
        @Nullable String tid) {

    static MetaColumns beside(Set<String> taken, boolean partitioned, boolean keyless) {
        return new MetaColumns(
                free("_version", taken),
                free("_is_deleted", taken),
                free("_commit_ts", taken),
                free("_xid", taken),
                free("_commit_lsn", taken),
                free("_lsn", taken),
                partitioned ? free("_leaf", taken) : null,
                keyless ? free("_tid", taken) : null);
    }

    static String free(String wanted, Set<String> taken) {
        String name = wanted;
        while (taken.contains(name)) {
            name = "_" + name;
        }
        return name;
    }

    /** The stored ones, in table order. */
    public List<String> stored() {
        return Stream.of(version, isDeleted, commitTimestamp, xid, leaf, tid)
                .<String>mapMulti((name, out) -> {
                    if (name != null) {
                        out.accept(name);
                    }
                })
                .toList();
    }
}
