package dev.walshadow.daemon.preflight;

import dev.walshadow.catalog.RelationName;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.NameRules;
import dev.walshadow.pipeline.mapping.MappingRules.TableRule;
import dev.walshadow.pipeline.mapping.RowFilter;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Whether equal text of the columns that filters ask for is equal bytes: with a nondeterministic
 * collation PostgreSQL calls other texts equal too.
 */
public final class FilterCheck {
    private static final String SQL =
            """
            SELECT n.nspname, c.relname, a.attname, l.collname
            FROM pg_attribute a
                JOIN pg_class c ON c.oid = a.attrelid
                JOIN pg_namespace n ON n.oid = c.relnamespace
                JOIN pg_collation l ON l.oid = a.attcollation
            WHERE NOT l.collisdeterministic AND a.attnum > 0
            ORDER BY 1, 2, 3\
            """;

    private FilterCheck() {}

    /** Checks one database. */
    public static void check(Connection source, NameRules rules, Findings findings)
            throws SQLException {
        boolean filters = rules.tables().values().stream().anyMatch(rule -> rule.where() != null);
        if (!filters) {
            return;
        }
        try (Statement statement = source.createStatement();
                ResultSet row = statement.executeQuery(SQL)) {
            while (row.next()) {
                RelationName name = new RelationName(row.getString(1), row.getString(2));
                TableRule rule = rules.tables().getOrDefault(name, TableRule.NONE);
                RowFilter where = rule.where();
                if (where != null && where.columns().contains(row.getString(3))) {
                    findings.add(
                            DaemonCodes.BAD_RULE,
                            "[tables.\"%s\"] where asks for the column %s, whose collation %s is nondeterministic: PostgreSQL calls texts of other bytes equal; leave the column out of where"
                                    .formatted(name, row.getString(3), row.getString(4)));
                }
            }
        }
    }
}
