package dev.walshadow.source.replication;

import dev.walshadow.embedded.EmbeddedPostgres;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** One statement each on a test server. */
final class Sql {
    private Sql() {}

    static void run(EmbeddedPostgres server, String... statements) throws SQLException {
        try (Connection connection = DriverManager.getConnection(server.jdbcUrl("postgres"));
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    static String ask(EmbeddedPostgres server, String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(server.jdbcUrl("postgres"));
                Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(sql)) {
            return result.next() ? String.valueOf(result.getString(1)) : "";
        }
    }
}
