package dev.walshadow.shadow;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.TreeMap;

/**
 * Compares the system catalogs of two servers row by row, in the text that PostgreSQL gives each
 * row. Both sides must be at rest: the source idle, the shadow applied up to it.
 */
public final class CatalogComparison {
    /**
     * Everything stored in pg_catalog but {@code pg_largeobject}, whose rows are user data and are
     * not kept on the shadow.
     */
    private static final String CATALOGS =
            """
            SELECT relname FROM pg_catalog.pg_class
            WHERE relnamespace = 11 AND relkind = 'r' AND oid < 16384
              AND relname <> 'pg_largeobject'
            ORDER BY relname\
            """;

    private CatalogComparison() {}

    /** One line per difference (catalog, side, row), at most {@code limit}; empty when equal. */
    public static List<String> differences(Connection source, Connection shadow, int limit)
            throws SQLException {
        List<String> found = new ArrayList<>();
        for (String catalog : column(source, CATALOGS)) {
            if (found.size() >= limit) {
                break;
            }
            String digest =
                    "SELECT count(*)::text || ' ' ||"
                            + " coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text"
                            + " FROM pg_catalog."
                            + catalog
                            + " t";
            if (!column(source, digest).equals(column(shadow, digest))) {
                compareRows(source, shadow, catalog, found);
            }
        }
        return found.size() > limit ? found.subList(0, limit) : found;
    }

    private static void compareRows(
            Connection source, Connection shadow, String catalog, List<String> found)
            throws SQLException {
        String rows = "SELECT t::text FROM pg_catalog." + catalog + " t";
        TreeMap<String, Integer> surplus = new TreeMap<>();
        for (String row : column(source, rows)) {
            surplus.merge(row, 1, Integer::sum);
        }
        for (String row : column(shadow, rows)) {
            surplus.merge(row, -1, Integer::sum);
        }
        surplus.forEach((row, count) -> {
            if (count != 0) {
                found.add(catalog + (count > 0 ? " source only: " : " shadow only: ") + row);
            }
        });
    }

    private static List<String> column(Connection session, String sql) throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            List<String> values = new ArrayList<>();
            while (rows.next()) {
                values.add(Objects.requireNonNullElse(rows.getString(1), "NULL"));
            }
            return values;
        }
    }
}
