package dev.walshadow.daemon.replication;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.pipeline.SourceLookup;
import dev.walshadow.shadow.CatalogReader;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
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

    private static final int LARGEST = 10_000;

    private static final SourceValues.Databases DATABASES =
            new SourceValues.Databases() {
                @Override
                public Connection open(int oid) throws SQLException {
                    return session();
                }

                @Override
                public boolean isGone(int oid) {
                    return false;
                }
            };

    private static final SourceValues VALUES = new SourceValues(DATABASES, LARGEST);

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

    /** Columns v (2) and w (3) of a row version. */
    private static @Nullable List<@Nullable String> ask(
            RelationDescriptor table, SourceLookup.Place place) throws InterruptedException {
        return VALUES.select(table, place, List.of(2, 3));
    }

    /** Where the row with this id lies. */
    private static SourceLookup.Place place(String table, int id) throws SQLException {
        try (Connection session = session()) {
            return place(session, table, id);
        }
    }

    private static SourceLookup.Place place(Connection session, String table, int id)
            throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet row =
                        statement.executeQuery(
                                "SELECT ctid, xmin FROM " + table + " WHERE id = " + id)) {
            row.next();
            String[] parts = row.getString(1).replaceAll("[()]", "").split(",", -1);
            int xid = Integer.parseUnsignedInt(row.getString(2));
            return new SourceLookup.Place(
                    Long.parseLong(parts[0]) << 16 | Long.parseLong(parts[1]), xid, xid);
        }
    }

    @Test
    void namesOfBeforeDoNotMatter() throws Exception {
        run(
                "CREATE TABLE one (id int PRIMARY KEY, v text, w text)",
                "INSERT INTO one VALUES (1, 'of one', 'x')",
                "CREATE TABLE other (id int PRIMARY KEY, v text, w text)",
                "INSERT INTO other VALUES (1, 'of the other', 'x')");
        RelationDescriptor one = table("one");
        SourceLookup.Place first = place("one", 1);
        assertThat(ask(one, first)).containsExactly("of one", "x");
        run(
                "ALTER TABLE one RENAME TO third",
                "ALTER TABLE other RENAME TO one",
                "ALTER TABLE third RENAME COLUMN v TO u",
                "ALTER TABLE third RENAME COLUMN id TO number");
        assertThat(ask(one, first)).containsExactly("of one", "x");
        run("ALTER TABLE third DROP COLUMN w");
        assertThat(ask(one, first)).containsExactly("of one", null);
        run("DROP TABLE third");
        assertThat(ask(one, first)).isNull();
    }

    @Test
    void onlyTheVeryVersionIsFound() throws Exception {
        run(
                "CREATE TYPE pair AS (a int, b text)",
                "CREATE TABLE versions (id int PRIMARY KEY, v pair, w text)",
                "INSERT INTO versions VALUES (1, ROW(1, NULL), 'x')");
        RelationDescriptor versions = table("versions");
        SourceLookup.Place before = place("versions", 1);
        assertThat(ask(versions, before)).containsExactly("(1,)", "x");
        run("UPDATE versions SET v = ROW(2, NULL)");
        assertThat(ask(versions, before)).isNull();
        assertThat(ask(versions, place("versions", 1))).containsExactly("(2,)", "x");
    }

    /** The WAL tells of a commit before other sessions see it. */
    @Test
    void aVersionThatIsNotVisibleYetIsWaitedFor() throws Exception {
        run("CREATE TABLE pending (id int PRIMARY KEY, v text, w text)");
        RelationDescriptor pending = table("pending");
        try (Connection session = session();
                Statement statement = session.createStatement();
                ExecutorService other = Executors.newSingleThreadExecutor()) {
            session.setAutoCommit(false);
            statement.execute("INSERT INTO pending VALUES (1, 'v', 'w')");
            SourceLookup.Place place = place(session, "pending", 1);
            Future<@Nullable List<@Nullable String>> answer =
                    other.submit(() -> ask(pending, place));
            assertThatThrownBy(() -> answer.get(1, TimeUnit.SECONDS))
                    .isInstanceOf(TimeoutException.class);
            session.commit();
            assertThat(answer.get()).containsExactly("v", "w");
        }
    }

    @Test
    void aMissingPrivilegeIsNamedAndMayBeGrantedMeanwhile() throws Exception {
        run(
                "CREATE SCHEMA \"Own\"",
                "CREATE TABLE \"Own\".secrets (id int PRIMARY KEY, v text, w text)",
                "INSERT INTO \"Own\".secrets VALUES (1, 'v', 'w')",
                "CREATE ROLE reader LOGIN");
        RelationDescriptor secrets = table("secrets");
        SourceLookup.Place place = place("\"Own\".secrets", 1);
        SourceValues asReader =
                new SourceValues(
                        new SourceValues.Databases() {
                            @Override
                            public Connection open(int oid) throws SQLException {
                                return DriverManager.getConnection(
                                        server.jdbcUrl("postgres")
                                                .replace("user=postgres", "user=reader"));
                            }

                            @Override
                            public boolean isGone(int oid) {
                                return false;
                            }
                        },
                        LARGEST);
        try (ExecutorService other = Executors.newSingleThreadExecutor()) {
            Future<@Nullable List<@Nullable String>> answer =
                    other.submit(() -> asReader.select(secrets, place, List.of(2, 3)));
            while (asReader.waits() == null) {
                LockSupport.parkNanos(1_000_000);
            }
            assertThat(asReader.waits())
                    .startsWith("WS-1916")
                    .contains("GRANT USAGE ON SCHEMA \"Own\" TO \"reader\"")
                    .contains("GRANT SELECT ON \"Own\".\"secrets\" TO \"reader\"");
            run(
                    "GRANT USAGE ON SCHEMA \"Own\" TO \"reader\"",
                    "GRANT SELECT ON \"Own\".\"secrets\" TO \"reader\"");
            assertThat(answer.get()).containsExactly("v", "w");
            assertThat(asReader.waits()).isNull();
        }
    }

    /** It would be asked for in vain for ever. */
    @Test
    void whatTheSourceCannotPrintSetsTheTableAside() throws Exception {
        run(
                "CREATE TABLE unprintable (id int PRIMARY KEY, v bytea)",
                "INSERT INTO unprintable VALUES (1, convert_to(repeat('a', 1 << 29), 'UTF8'))");
        RelationDescriptor unprintable = table("unprintable");
        SourceLookup.Place place = place("unprintable", 1);
        SourceValues values = new SourceValues(DATABASES, 1 << 30);
        assertThatThrownBy(() -> values.select(unprintable, place, List.of(2)))
                .isInstanceOf(QuarantineException.class)
                .hasMessageContaining("WS-1709")
                .hasMessageContaining("cannot print it");
    }

    /** Such a value is newer than what is asked for; the stream brings it. */
    @Test
    void aValueBeyondTheLimitIsNotAskedFor() throws Exception {
        run(
                "CREATE TABLE large (id int PRIMARY KEY, v text, w bytea)",
                "INSERT INTO large VALUES (1, repeat('x', 10000), '\\x01'::bytea), (2, repeat('x',"
                        + " 30000), decode(repeat('ab', 10000), 'hex'))");
        RelationDescriptor large = table("large");
        assertThat(ask(large, place("large", 1))).containsExactly("x".repeat(10_000), "\\x01");
        assertThat(ask(large, place("large", 2)))
                .containsExactly(null, "\\x" + "ab".repeat(10_000));
    }
}
