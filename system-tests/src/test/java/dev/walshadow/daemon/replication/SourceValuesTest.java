package dev.walshadow.daemon.replication;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.pipeline.SourceLookup;
import dev.walshadow.shadow.CatalogReader;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Values are found on the source although the stream still has the names of before. */
@Timeout(60)
final class SourceValuesTest {
    @TempDir static Path folder;

    private static EmbeddedPostgres server;

    private static final SourceValues VALUES =
            new SourceValues(
                    new SourceValues.Databases() {
                        @Override
                        public Connection open(int oid) throws SQLException {
                            return session();
                        }

                        @Override
                        public boolean isGone(int oid) {
                            return false;
                        }
                    });

    @BeforeAll
    static void start() throws Exception {
        server = EmbeddedPostgres.at(folder).version(18).start();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    private static Connection session() throws SQLException {
        return DriverManager.getConnection(server.jdbcUrl("postgres"));
    }

    private static void run(String... statements) throws SQLException {
        try (Connection session = session();
                Statement statement = session.createStatement()) {
            for (String each : statements) {
                statement.execute(each);
            }
        }
    }

    private static RelationDescriptor table(String name) throws SQLException {
        try (Connection session = session()) {
            return new CatalogReader()
                    .readAll(session).stream()
                            .filter(relation -> relation.name().name().equals(name))
                            .findFirst()
                            .orElseThrow();
        }
    }

    /** Columns v (2) and w (3) of the row with this id. */
    private static @Nullable List<@Nullable String> ask(RelationDescriptor table, int id)
            throws InterruptedException {
        return VALUES.select(
                table,
                new SourceLookup.Key(List.of(1), List.of(Integer.toString(id))),
                List.of(2, 3));
    }

    @Test
    void namesOfBeforeDoNotMatter() throws Exception {
        run(
                "CREATE TABLE one (id int PRIMARY KEY, v text, w text)",
                "INSERT INTO one VALUES (1, 'of one', 'x')",
                "CREATE TABLE other (id int PRIMARY KEY, v text, w text)",
                "INSERT INTO other VALUES (1, 'of the other', 'x')");
        RelationDescriptor one = table("one");
        assertThat(ask(one, 1)).containsExactly("of one", "x");
        assertThat(ask(one, 2)).isNull();
        run(
                "ALTER TABLE one RENAME TO third",
                "ALTER TABLE other RENAME TO one",
                "ALTER TABLE third RENAME COLUMN v TO u",
                "ALTER TABLE third RENAME COLUMN id TO number");
        assertThat(ask(one, 1)).containsExactly("of one", "x");
        run("ALTER TABLE third DROP COLUMN w");
        assertThat(ask(one, 1)).containsExactly("of one", null);
        run("ALTER TABLE third DROP COLUMN number");
        assertThat(ask(one, 1)).isNull();
        run("DROP TABLE third");
        assertThat(ask(one, 1)).isNull();
    }
}
