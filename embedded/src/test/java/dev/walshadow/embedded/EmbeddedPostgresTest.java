package dev.walshadow.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class EmbeddedPostgresTest {
    /** Mode 0700 and, in a run as root, root's: closed to the server's user. */
    @TempDir Path folder;

    @ParameterizedTest
    @ValueSource(ints = {15, 16, 17, 18})
    void servesItsMajorAndKeepsCommittedRowsThroughStopCrashAndKill(int major) throws Exception {
        try (EmbeddedPostgres server =
                EmbeddedPostgres.at(folder).version(major).setting("fsync", "off").start()) {
            assertThat(ask(server, "show server_version")).startsWith(major + ".");
            assertThat(ask(server, "show wal_level")).isEqualTo("logical");
            assertThat(ask(server, "select current_user")).isEqualTo("postgres");
            run(server, "create table t as select 1 as id");
            int port = server.port();

            server.restart();
            run(server, "insert into t values (2)");
            server.stopImmediate();
            server.start();
            run(server, "insert into t values (3)");
            long killed = server.pid();
            server.kill();
            assertThat(server.isRunning()).isFalse();
            assertThat(ProcessHandle.of(killed)).isEmpty();
            server.start();

            assertThat(ask(server, "select string_agg(id::text, ',' order by id) from t"))
                    .isEqualTo("1,2,3");
            assertThat(server.port()).isEqualTo(port);
        }
    }

    @Test
    void startsThoughTheStalePidFileNamesALivingProcess() throws Exception {
        EmbeddedPostgres server =
                EmbeddedPostgres.at(folder).version(15).setting("fsync", "off").start();
        try (server) {
            server.kill();
            Path pidFile = server.dataDirectory().resolve("postmaster.pid");
            Files.writeString(
                    pidFile, ProcessHandle.current().pid() + "\n/x\n1\n1\n\n\n0\nready\n");
            UnprivilegedUser.own(pidFile);
            server.start();
            assertThat(ask(server, "select 1")).isEqualTo("1");
        }
        assertThat(server.socketDirectory()).doesNotExist();
    }

    @Test
    void endsWithAKilledJvmAndStartsAgain() throws Exception {
        Process jvm =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-cp",
                                System.getProperty("java.class.path"),
                                ServerOfAnotherJvm.class.getName(),
                                folder.toString())
                        .redirectError(ProcessBuilder.Redirect.INHERIT)
                        .start();
        String pid = jvm.inputReader().readLine();
        ProcessHandle postmaster = ProcessHandle.of(Long.parseLong(pid)).orElseThrow();
        jvm.destroyForcibly().waitFor();
        postmaster.onExit().get(60, TimeUnit.SECONDS);
        try (EmbeddedPostgres server = EmbeddedPostgres.at(folder).version(17).start()) {
            assertThat(ask(server, "select id from t")).isEqualTo("1");
        }
    }

    /** What a killed owner was. */
    static final class ServerOfAnotherJvm {
        public static void main(String[] arguments) throws Exception {
            EmbeddedPostgres server =
                    EmbeddedPostgres.at(Path.of(arguments[0])).version(17).start();
            run(server, "create table t as select 1 as id");
            System.out.println(server.pid());
            Thread.sleep(Long.MAX_VALUE);
        }
    }

    @Test
    void refusesADirectoryInUseAndAnotherMajor() {
        try (EmbeddedPostgres server =
                EmbeddedPostgres.at(folder).version(16).setting("fsync", "off").start()) {
            assertThatThrownBy(() -> EmbeddedPostgres.at(folder).version(16).start())
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("only user");
            server.stop();
            assertThatThrownBy(() -> EmbeddedPostgres.at(folder).version(18).start())
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("found version 16");
        }
    }

    @Test
    void tellsTheEndOfTheLogWhenTheServerDoesNotComeUp() {
        assertThatThrownBy(() ->
                        EmbeddedPostgres.at(folder)
                                .version(17)
                                .setting("no_such_setting", "1")
                                .start())
                .isInstanceOf(RetryException.class)
                .hasMessageContaining("no_such_setting");
    }

    static String ask(EmbeddedPostgres server, String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(server.jdbcUrl("postgres"));
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            assertThat(rows.next()).isTrue();
            return rows.getString(1);
        }
    }

    static void run(EmbeddedPostgres server, String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(server.jdbcUrl("postgres"));
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
