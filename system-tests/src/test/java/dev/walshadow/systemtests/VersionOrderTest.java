package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * Versions follow the order of commits (I8): an INSERT writes its row before it checks that the key
 * is free, so the row that stays can have a lower LSN than the delete of its predecessor.
 */
final class VersionOrderTest {
    private static final String[] SCHEMA = {
        // Holds the insert up between its heap record and the check of the primary key.
        """
        CREATE FUNCTION held_up(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_lock_shared(42);
            PERFORM pg_advisory_unlock_shared(42);
            RETURN i;
        END $$
        """,
        "CREATE TABLE versioned (id int NOT NULL, v text)",
        // Of a lower OID than the key's, and so filled before it.
        "CREATE INDEX versioned_slow ON versioned (held_up(id))",
        "ALTER TABLE versioned ADD PRIMARY KEY (id)",
        "INSERT INTO versioned VALUES (77, 'old'), (78, 'other')",
    };

    @Test
    void theRowThatCommitsLaterStaysThoughItsRecordIsOlder() throws Exception {
        try (Installation installation = Installation.start(18)) {
            installation.execute(SCHEMA);
            installation.startDaemon();
            installation.awaitStreaming();
            insertWhileAnotherDeletes(installation);
            Verification.Outcome outcome = installation.verify();
            assertThat(outcome.reason()).as(outcome.results().toString()).isEmpty();
            assertThat(
                            installation
                                    .target()
                                    .query("SELECT v FROM public.versioned FINAL WHERE id = 77")
                                    .strip())
                    .isEqualTo("new");
        }
    }

    private static void insertWhileAnotherDeletes(Installation installation) throws Exception {
        try (Connection gate = installation.session();
                Connection inserter = installation.session();
                Statement lock = gate.createStatement()) {
            lock.execute("SELECT pg_advisory_lock(42)");
            CompletableFuture<Void> inserted =
                    CompletableFuture.runAsync(
                            () -> run(inserter, "INSERT INTO versioned VALUES (77, 'new')"));
            installation.await("the insert is held up", () -> isHeldUp(gate));
            installation.execute("DELETE FROM versioned WHERE id = 77");
            lock.execute("SELECT pg_advisory_unlock(42)");
            inserted.join();
        }
    }

    private static void run(Connection session, String sql) {
        try (Statement statement = session.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static boolean isHeldUp(Connection session) {
        try (Statement statement = session.createStatement();
                ResultSet row =
                        statement.executeQuery(
                                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type ="
                                        + " 'Lock' AND wait_event = 'advisory'")) {
            row.next();
            return row.getInt(1) == 1;
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }
}
