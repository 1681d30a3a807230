package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.source.store.Compression;
import dev.walshadow.testkit.Installation;
import dev.walshadow.testkit.Sql;
import dev.walshadow.testkit.cluster.Standby;
import dev.walshadow.testkit.store.WalgBucket;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The first attach loads a backup of a timeline that the source has left since, twice, and follows
 * the timelines: out of the archive alone, and from the archive and the source.
 */
@Timeout(900)
final class AncestorBackupTest {
    private static final int MAJOR = Integer.getInteger("walshadow.major", 17);

    static Stream<Boolean> modes() {
        return Stream.of(true, false);
    }

    @TempDir private Path folder;
    private Path bucket = Path.of("");

    @SuppressWarnings("NullAway.Init") // every test starts with it
    private Installation at;

    @BeforeEach
    void makeBucket() throws IOException {
        bucket = WalgBucket.createIn(folder);
    }

    private EmbeddedPostgres.Builder archiving(EmbeddedPostgres.Builder source) {
        return WalgBucket.archiving(source, bucket).setting("max_prepared_transactions", "5");
    }

    @ParameterizedTest
    @MethodSource("modes")
    void theTimelinesSinceTheBackupAreFollowed(boolean archiveAlone) throws Exception {
        try (Installation installation =
                Installation.start(
                        MAJOR, source -> archiving(source).initdbOption("--wal-segsize=1"))) {
            at = installation;
            EmbeddedPostgres first = at.source();
            Sql.on(
                    first,
                    "CREATE TABLE item (id int PRIMARY KEY, name text, big text)",
                    "ALTER TABLE item ALTER big SET STORAGE EXTERNAL",
                    "CREATE TABLE altered (id int PRIMARY KEY, a int)",
                    "INSERT INTO altered SELECT i, i FROM generate_series(1, 500) i",
                    "INSERT INTO item SELECT i, 'n' || i, repeat(md5(i::text), 100)"
                            + " FROM generate_series(1, 2000) i",
                    "BEGIN; INSERT INTO item VALUES (-1, 'prepared before');"
                            + " PREPARE TRANSACTION 'p'");
            new WalgBucket(bucket, Compression.ZSTD).push(first);
            write(first, 10_000);
            try (EmbeddedPostgres second = Standby.of(first, at.folder("b"), this::archiving)) {
                failOver(first, second);
                write(second, 20_000);
                Sql.on(second, "COMMIT PREPARED 'p'");
                if (!archiveAlone) {
                    Sql.on(
                            second,
                            "ALTER TABLE item ADD COLUMN c int DEFAULT 1",
                            "ALTER TABLE altered ALTER a TYPE bigint");
                }
                try (EmbeddedPostgres third = Standby.of(second, at.folder("c"), this::archiving)) {
                    failOver(second, third);
                    write(third, 30_000);
                    follow(third, archiveAlone);
                }
            }
        }
    }

    private void follow(EmbeddedPostgres third, boolean archiveAlone) throws Exception {
        String source =
                archiveAlone
                        ? "mode = \"archive\"\ndatabases = [\"postgres\"]"
                        : "url = \"" + third.url("postgres") + "\"";
        at.configure(text -> text.replaceFirst("url = \"postgres:.*", source));
        at.configure(
                "\n[backup]\nurl = \"file://%s\"\ninitial_load = \"object_store\"\n"
                        .formatted(bucket));
        archived(third);
        at.startDaemon();
        at.awaitStreaming();
        assertEqual(third);
        write(third, 40_000);
        Sql.on(third, "ALTER TABLE item ADD COLUMN d int DEFAULT 2");
        assertEqual(third);
        at.stopDaemon();
        write(third, 50_000);
        archived(third);
        at.startDaemon();
        assertEqual(third);
        assertThat(at.logged("WS-1955")).isFalse();
        at.stopDaemon();
    }

    /** What the old primary has archived is all that anybody has of its timeline. */
    private void failOver(EmbeddedPostgres from, EmbeddedPostgres to) throws Exception {
        write(from, 15_000);
        archived(from);
        Sql.on(from, "INSERT INTO item VALUES (-2, 'in the last segment') ON CONFLICT DO NOTHING");
        Standby.awaitCaughtUp(from, to);
        from.kill();
        Standby.promote(to);
    }

    private void archived(EmbeddedPostgres server) throws SQLException {
        Sql.on(
                server,
                "SELECT pg_logical_emit_message(false, 'walshadow.x', 'not at its beginning')");
        String name = Sql.ask(server, "SELECT pg_walfile_name(pg_switch_wal())");
        at.await("the archive has " + name, () -> Files.exists(segment(name)));
    }

    private Path segment(String name) {
        return WalgBucket.segments(bucket).resolve(name + ".gz");
    }

    private static void write(EmbeddedPostgres server, int from) throws SQLException {
        Sql.on(
                server,
                "INSERT INTO item (id, name, big) SELECT i, 'x' || i, repeat(md5(i::text), 100)"
                        + " FROM generate_series(%d, %d) i ON CONFLICT DO NOTHING"
                                .formatted(from, from + 99),
                "UPDATE item SET name = name || '!' WHERE id % 10 = 0",
                "DELETE FROM item WHERE id % 13 = 0",
                "UPDATE altered SET a = a + 1 WHERE id % 7 = 0");
    }

    private void assertEqual(EmbeddedPostgres server) throws Exception {
        archived(server);
        assertThat(at.command("wait").output()).doesNotContain("not");
        Verification.Outcome outcome = at.verify(server);
        assertThat(outcome.reason()).as("%s", outcome.results()).isEmpty();
    }
}
