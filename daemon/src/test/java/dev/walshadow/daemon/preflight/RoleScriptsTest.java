package dev.walshadow.daemon.preflight;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.daemon.replication.SourceDatabase;
import dev.walshadow.embedded.EmbeddedClickHouse;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.source.replication.ConnectionSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The scripts of ops/sql, and what preflight says of a role that sees too little. */
final class RoleScriptsTest {
    private static final Path SCRIPTS = Path.of("..", "ops", "sql");

    @TempDir private Path directory;

    private static List<String> statements(String file) throws IOException {
        String text = Files.readString(SCRIPTS.resolve(file)).replaceAll("(?m)--.*$", "");
        return Arrays.stream(text.split(";", -1))
                .map(String::strip)
                .filter(s -> !s.isEmpty())
                .toList();
    }

    private static void run(Connection session, List<String> statements) throws SQLException {
        try (Statement statement = session.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static SourceDatabase as(EmbeddedPostgres server, String role) {
        String url = server.url("postgres").replaceFirst("://[^@/]*@", "://" + role + "@");
        return new SourceDatabase(ConnectionSettings.parse(url));
    }

    private static Findings examine(SourceDatabase source) throws SQLException {
        Findings findings = new Findings();
        try (Connection session = source.open()) {
            SourceCheck.check(session, "walshadow", SlotUse.MADE, findings);
            List<RelationDescriptor> selected =
                    new TableSelection(List.of("*"), List.of(), false)
                            .of(new CatalogReader().readAll(session));
            assertThat(selected).hasSize(2);
            Advice.rowSecurity(session, selected, findings);
        }
        return findings;
    }

    @Test
    void theSourcesRoleIsEnoughAndALesserOneIsToldWhatItLacks() throws Exception {
        try (EmbeddedPostgres server =
                        EmbeddedPostgres.at(
                                        UnprivilegedUser.createDirectory(directory.resolve("pg")))
                                .version(17)
                                .start();
                Connection session = DriverManager.getConnection(server.jdbcUrl("postgres"))) {
            run(
                    session,
                    List.of(
                            "CREATE TABLE plain (id int PRIMARY KEY)",
                            "CREATE TABLE hidden (id int PRIMARY KEY)",
                            "INSERT INTO hidden VALUES (1)",
                            "ALTER TABLE hidden ENABLE ROW LEVEL SECURITY",
                            "CREATE ROLE lesser LOGIN",
                            "GRANT pg_read_all_data TO lesser"));
            run(session, statements("source-role.sql"));
            Findings enough = examine(as(server, "walshadow"));
            assertThat(enough.lines()).isEmpty();
            assertThat(enough.advice()).isEmpty();

            Findings lacking = examine(as(server, "lesser"));
            assertThat(lacking.lines()).isEmpty();
            assertThat(lacking.advice())
                    .singleElement()
                    .asString()
                    .contains("WS-1947")
                    .contains("1 selected tables")
                    .contains("public.hidden")
                    .contains("ALTER ROLE lesser BYPASSRLS");
            try (Connection lesser = as(server, "lesser").open();
                    Statement statement = lesser.createStatement()) {
                assertThat(catchThrowable(() -> statement.executeQuery("SELECT * FROM hidden")))
                        .isInstanceOf(SQLException.class)
                        .hasMessageContaining("row-level security");
            }
        }
    }

    /** The embedded engine has no users, so that the statements are understood is all it shows. */
    @Test
    void clickHouseUnderstandsItsScript() throws Exception {
        try (EmbeddedClickHouse engine = EmbeddedClickHouse.start(directory.resolve("ch"))) {
            for (String statement : statements("clickhouse-role.sql")) {
                assertThat(
                                engine.query(
                                        "SELECT formatQuery('"
                                                + statement.replace("'", "\\'")
                                                + "')"))
                        .containsAnyOf("CREATE", "GRANT");
            }
        }
    }
}
