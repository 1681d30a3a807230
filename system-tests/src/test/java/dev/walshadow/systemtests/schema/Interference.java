package dev.walshadow.systemtests.schema;

import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Another session that writes rows to a case's tables between its statements, whatever shape they
 * have by then. What it cannot do (a lock, a constraint) it leaves.
 */
final class Interference implements SchemaRun.Between, AutoCloseable {
    private static final String TARGETS =
            """
            SELECT format('%I.%I', n.nspname, c.relname), quote_ident(a.attname)
            FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
            JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0 AND attgenerated = ''
              AND attidentity <> 'a' AND NOT attisdropped
            WHERE relkind = 'r' AND relpersistence <> 't'
              AND (n.nspname = '$S' OR starts_with(n.nspname, '$S_x_'))
            ORDER BY random() LIMIT 1\
            """;
    private static final List<String> CHANGES =
            List.of(
                    "UPDATE ONLY $T SET $C = $C WHERE ctid = ($R)",
                    "DELETE FROM ONLY $T WHERE ctid = ($R)",
                    "WITH gone AS (DELETE FROM ONLY $T WHERE ctid = ($R) RETURNING *)"
                            + " INSERT INTO $T SELECT * FROM gone");
    private static final String ONE_ROW = "SELECT ctid FROM ONLY $T ORDER BY random() LIMIT 1";

    private final Connection session;
    private final SplittableRandom random;
    private final List<String> refused = new ArrayList<>();
    private int done;

    Interference(Installation installation, long seed) throws SQLException {
        session = installation.session();
        random = new SplittableRandom(seed);
        try (Statement statement = session.createStatement()) {
            statement.execute("SET lock_timeout = '5ms'");
            statement.execute("SET session_replication_role = replica");
            statement.execute("SELECT setseed(" + random.nextDouble() + ")");
        }
    }

    @Override
    public void between(SchemaCase running) throws SQLException {
        String table;
        String column;
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(TARGETS.replace("$S", running.schema()))) {
            if (!row.next()) {
                return;
            }
            table = row.getString(1);
            column = row.getString(2);
        }
        String change = CHANGES.get(random.nextInt(CHANGES.size())).replace("$R", ONE_ROW);
        try (Statement statement = session.createStatement()) {
            statement.execute(change.replace("$T", table).replace("$C", column));
            done++;
        } catch (SQLException e) {
            refused.add(String.valueOf(e.getMessage()));
        }
    }

    int done() {
        return done;
    }

    @Override
    public void close() throws SQLException {
        session.close();
    }
}
