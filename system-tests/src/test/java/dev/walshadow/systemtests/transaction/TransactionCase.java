package dev.walshadow.systemtests.transaction;

import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;

/**
 * What a case does to the source; both sides must be equal after it.
 *
 * @param before statements that are run before the daemon's first start
 */
record TransactionCase(String name, List<String> before, Body body) {
    interface Body {
        void run(Installation installation, SplittableRandom random) throws Exception;
    }

    TransactionCase(String name, Body body, String... before) {
        this(name, List.of(before), body);
    }

    /** One transaction of its own session. */
    static void transaction(Installation installation, String... statements) throws SQLException {
        try (Connection session = installation.session()) {
            session.setAutoCommit(false);
            execute(session, statements);
            session.commit();
        }
    }

    static void execute(Connection session, String... statements) throws SQLException {
        try (Statement statement = session.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    /** Something on a session. */
    interface Work {
        void run() throws SQLException;
    }

    /** On another thread. */
    static CompletableFuture<Void> start(Connection session, String... statements) {
        return start(() -> execute(session, statements));
    }

    static CompletableFuture<Void> start(Work work) {
        return CompletableFuture.runAsync(
                () -> {
                    try {
                        work.run();
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                },
                task -> Thread.ofPlatform().start(task));
    }
}
