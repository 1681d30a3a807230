package dev.walshadow.testkit;

import dev.walshadow.embedded.EmbeddedPostgres;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Statements in a session of their own, in the database postgres of a server. */
public final class Sql {
    private Sql() {}

    public static void on(EmbeddedPostgres server, String... statements) throws SQLException {
        try (Connection session = DriverManager.getConnection(server.jdbcUrl("postgres"));
                Statement statement = session.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    /** The first column of the only row. */
    public static String ask(EmbeddedPostgres server, String query) throws SQLException {
        try (Connection session = DriverManager.getConnection(server.jdbcUrl("postgres"));
                Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getString(1);
        }
    }
}
