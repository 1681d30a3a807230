package dev.walshadow.source;

import dev.walshadow.embedded.EmbeddedPostgres;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** What two servers' catalogs must agree on, as lines of text. */
final class Catalog {
    private static final List<String> QUERIES =
            List.of(
                    "select 'class', oid, relname, relnamespace, reltype, relam, relfilenode,"
                            + " reltablespace, reltoastrelid, relpersistence, relkind, relnatts,"
                            + " relreplident, relrewrite, pg_relation_filenode(oid)"
                            + " from pg_class order by oid",
                    "select 'attribute', attrelid, attnum, attname, atttypid, attlen, attnotnull,"
                            + " atthasdef, attisdropped, attmissingval"
                            + " from pg_attribute order by 2, 3",
                    "select 'index', i::text from pg_index i order by indexrelid",
                    "select 'type', oid, typname, typnamespace, typtype, typrelid, typelem"
                            + " from pg_type order by oid",
                    "select 'enum', e::text from pg_enum e order by oid",
                    "select 'range', r::text from pg_range r order by rngtypid",
                    "select 'namespace', n::text from pg_namespace n order by oid",
                    "select 'proc', oid, proname, md5(prosrc) from pg_proc order by oid",
                    "select 'constraint', oid, conname, contype from pg_constraint order by oid",
                    "select 'attrdef', d::text from pg_attrdef d order by oid",
                    "select 'inherits', i::text from pg_inherits i order by 2",
                    "select 'partitioned', p::text from pg_partitioned_table p order by 2",
                    "select 'depend', count(*), sum(hashtext(d::text)::bigint) from pg_depend d",
                    "select 'database', oid, datname, dattablespace from pg_database order by oid",
                    "select 'tablespace', oid, spcname from pg_tablespace order by oid",
                    "select 'authid', oid, rolname from pg_authid order by oid",
                    "select 'statistic', count(*) from pg_statistic");

    private Catalog() {}

    static List<String> dump(EmbeddedPostgres server, List<String> databases) throws SQLException {
        List<String> lines = new ArrayList<>();
        for (String database : databases) {
            try (Connection connection = RealWal.connect(server, database);
                    Statement statement = connection.createStatement()) {
                for (String query : QUERIES) {
                    try (ResultSet rows = statement.executeQuery(query)) {
                        int columns = rows.getMetaData().getColumnCount();
                        while (rows.next()) {
                            StringBuilder line = new StringBuilder(database);
                            for (int i = 1; i <= columns; i++) {
                                line.append('|').append(rows.getString(i));
                            }
                            lines.add(line.toString());
                        }
                    }
                }
            }
        }
        return lines;
    }
}
