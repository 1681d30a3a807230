package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.testkit.Installation;
import java.nio.file.Files;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What {@code walshadow uninstall} takes away, and what it leaves. */
@Timeout(600)
final class UninstallTest {
    private static boolean slotExists(Installation installation) throws SQLException {
        try (Connection session = installation.session();
                Statement statement = session.createStatement();
                ResultSet slot =
                        statement.executeQuery(
                                "SELECT FROM pg_replication_slots WHERE slot_name = 'walshadow'")) {
            return slot.next();
        }
    }

    private static String databases(Installation installation) {
        return installation
                .target()
                .query("SELECT name FROM system.databases WHERE name IN ('walshadow', 'public')")
                .strip();
    }

    @Test
    void itTakesAwayWhatWalshadowMadeAndRowsOnlyWhenToldTo() throws Exception {
        try (Installation installation = Installation.start(17)) {
            installation.execute(
                    "CREATE TABLE t (id int PRIMARY KEY)",
                    "INSERT INTO t SELECT generate_series(1, 100)");
            installation.startDaemon();
            installation.awaitStreaming();
            assertThat(installation.verify().reason()).isEmpty();
            assertThat(installation.command("uninstall", "--yes").output()).contains("WS-1902");
            installation.stopDaemon();

            Installation.CommandResult asked = installation.command("uninstall");
            assertThat(asked.exitCode()).isEqualTo(2);
            assertThat(asked.output())
                    .contains("to do: drop the replication slot walshadow")
                    .contains("to do: drop the database walshadow")
                    .contains("1 replicated tables stay")
                    .contains("WS-1948");
            assertThat(slotExists(installation)).isTrue();
            assertThat(databases(installation)).contains("walshadow");

            Files.createFile(installation.state().resolve("mine"));
            assertThat(installation.command("uninstall", "--yes").exitCode()).isZero();
            assertThat(slotExists(installation)).isFalse();
            assertThat(databases(installation)).isEqualTo("public");
            assertThat(installation.state()).isDirectoryContaining("glob:**/mine");
            try (var left = Files.list(installation.state())) {
                assertThat(left).hasSize(1);
            }
            assertThat(installation.target().query("SELECT count() FROM public.t FINAL").strip())
                    .isEqualTo("100");

            assertThat(installation.command("uninstall").output()).contains("nothing to remove");
            assertThat(installation.command("uninstall", "--yes", "--drop-tables").output())
                    .contains("to do: drop the table public.t");
            assertThat(installation.target().query("SHOW TABLES FROM public").strip()).isEmpty();
        }
    }
}
