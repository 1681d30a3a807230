package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.shadow.CatalogComparison;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.shadow.DatabaseInfo;
import dev.walshadow.source.CatalogBoundary;
import dev.walshadow.source.Decision;
import dev.walshadow.testkit.shadow.DdlStorm;
import dev.walshadow.testkit.shadow.ShadowFiles;
import dev.walshadow.testkit.shadow.ShadowRig;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The shadow, fed by the filter, has the source's catalogs whatever is done to them, and nothing of
 * the users' data. Seed: {@code -Dwalshadow.seed}.
 */
@Timeout(600)
class CatalogMirrorTest {
    private static final boolean SOAK = Boolean.getBoolean("walshadow.soak");
    private static final long SEED =
            Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFF_FFFFL);

    private final CatalogReader reader = new CatalogReader();
    private int boundaries;
    private int captures;
    private int checkedIndexes;
    private @Nullable ShadowRig rig;
    private Map<Integer, String> databaseNames = Map.of();

    static Stream<Integer> majors() {
        Integer only = Integer.getInteger("walshadow.major");
        if (only != null) {
            return Stream.of(only);
        }
        return SOAK
                ? Stream.of(15, 16, 17, 18)
                : Stream.of(15 + LocalDate.now(ZoneOffset.UTC).getDayOfYear() % 4);
    }

    @ParameterizedTest
    @MethodSource("majors")
    void equalsTheSourceUnderDdlStorms(int major) throws Exception {
        System.out.println("CatalogMirrorTest: PostgreSQL " + major + ", seed " + SEED);
        int changes = SOAK ? 400 : 40;
        Path root = UnprivilegedUser.temporaryDirectory("walshadow-mirror");
        try (EmbeddedPostgres source = startSource(root, major);
                ShadowRig opened = new ShadowRig(source, root.resolve("mirror"))) {
            rig = opened;
            opened.onRecord(this::onRecord);
            DdlStorm storm = new DdlStorm(source.jdbcUrl("postgres"), SEED);
            execute(opened, "CREATE EXTENSION amcheck");
            createRealTablespace(opened, root, "before");
            storm.runEach();

            CompletableFuture<Void> meanwhile = inBackground(storm, 2, 12);
            opened.bootstrap();
            meanwhile.get();
            assertMirrored(opened);

            meanwhile = inBackground(storm, 4, changes);
            opened.awaitStreamed();
            opened.cluster().crash();
            meanwhile.get();
            assertMirrored(opened);
            assertThat(opened.cluster().health().restarts()).isPositive();

            meanwhile = inBackground(storm, 4, changes);
            opened.awaitStreamed();
            opened.stopStream();
            opened.resumeStream();
            meanwhile.get();
            assertMirrored(opened);

            createRealTablespace(opened, root, "after");
            prepare(opened, "COMMIT", "across_one");
            prepare(opened, "ROLLBACK", "across_two");
            opened.awaitStreamed();
            opened.cluster().stop();
            opened.stopStream();
            opened.resumeStream();
            opened.startShadow();
            execute(opened, "COMMIT PREPARED 'across_one'", "ROLLBACK PREPARED 'across_two'");
            storm.runEach();
            assertMirrored(opened);

            assertThat(storm.succeeded().keySet()).containsAll(DdlStorm.kinds());
            assertThat(boundaries).isGreaterThan(changes);
            assertThat(captures).isPositive();
            assertThat(checkedIndexes).isGreaterThan(100);
            assertNoUserData(opened, source);
        }
    }

    /**
     * Locks and new storage from before the backup, more storage and the commit behind its start.
     */
    @ParameterizedTest
    @MethodSource("majors")
    void waitsForCatalogRewritesThatAreInFlightWhenTheBackupBegins(int major) throws Exception {
        Path root = UnprivilegedUser.temporaryDirectory("walshadow-mirror");
        try (EmbeddedPostgres source = startSource(root, major);
                ShadowRig opened = new ShadowRig(source, root.resolve("mirror"));
                Connection rewriter = opened.connect("postgres");
                Statement rewriting = rewriter.createStatement()) {
            rewriting.execute("BEGIN");
            rewriting.execute("REINDEX TABLE pg_depend");
            rewriting.execute("LOCK TABLE pg_description IN ACCESS EXCLUSIVE MODE");
            CompletableFuture<Void> bootstrap =
                    CompletableFuture.runAsync(() -> {
                        try {
                            opened.bootstrap();
                        } catch (InterruptedException e) {
                            throw new IllegalStateException(e);
                        }
                    });
            awaitBackupStarted(opened);
            rewriting.execute("CLUSTER pg_description USING pg_description_o_c_o_index");
            rewriting.execute("REINDEX TABLE pg_type");
            rewriting.execute("COMMENT ON SCHEMA public IS 'in flight'");
            assertThat(bootstrap).isNotDone();
            rewriting.execute("COMMIT");
            bootstrap.get();
            execute(opened, "CREATE TABLE afterwards (id int)", "COMMENT ON SCHEMA public IS 'x'");
            assertMirrored(opened);
        }
    }

    private static void awaitBackupStarted(ShadowRig rig) throws SQLException {
        try (Connection session = rig.connect("postgres");
                Statement statement = session.createStatement()) {
            boolean started = false;
            while (!started) {
                try (ResultSet row =
                        statement.executeQuery(
                                "SELECT phase FROM pg_stat_progress_basebackup WHERE phase NOT IN"
                                    + " ('initializing', 'waiting for checkpoint to finish')")) {
                    started = row.next();
                }
            }
        }
    }

    private static EmbeddedPostgres startSource(Path root, int major) {
        return EmbeddedPostgres.at(root.resolve("source"))
                .version(major)
                .setting("fsync", "off")
                .setting("autovacuum", "off")
                .setting("max_prepared_transactions", "30")
                .setting("allow_in_place_tablespaces", "on")
                .setting("checkpoint_timeout", "30s")
                .setting("max_wal_size", "64MB")
                .start();
    }

    private static CompletableFuture<Void> inBackground(DdlStorm storm, int sessions, int changes) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        Thread.ofVirtual()
                .start(() -> {
                    try {
                        storm.run(sessions, changes);
                        done.complete(null);
                    } catch (InterruptedException | RuntimeException e) {
                        done.completeExceptionally(e);
                    }
                });
        return done;
    }

    /** Some boundaries are captured as the daemon would: with the pump parked inside the record. */
    private void onRecord(WalRecord record, Decision decision, @Nullable CatalogBoundary boundary)
            throws InterruptedException {
        if (boundary == null || boundaries++ % 10 != 0) {
            return;
        }
        ShadowRig current = rig;
        String database = databaseNames.get(boundary.databaseOid());
        if (current == null || database == null) {
            return;
        }
        int[] relations = new int[boundary.relationCount()];
        for (int i = 0; i < relations.length; i++) {
            relations[i] = boundary.relation(i);
        }
        List<RelationDescriptor> captured =
                current.readAt(
                        boundary.nextLsn(), database, session -> reader.read(session, relations));
        captures += captured.isEmpty() ? 0 : 1;
    }

    private void assertMirrored(ShadowRig opened) throws Exception {
        opened.awaitStreamed();
        Map<Integer, String> names = new HashMap<>();
        for (DatabaseInfo database : opened.databases()) {
            try (Connection source = opened.connect(database.name())) {
                assertThat(
                                opened.read(
                                                database.name(),
                                                shadow ->
                                                        CatalogComparison.differences(
                                                                source, shadow, 5))
                                        .toString())
                        .as("differences in %s (seed %d)", database.name(), SEED)
                        .isEqualTo("[]");
                List<RelationDescriptor> expected = reader.readAll(source);
                List<RelationDescriptor> found = opened.read(database.name(), reader::readAll);
                assertThat(found).isEqualTo(expected);
                checkedIndexes += opened.read(database.name(), CatalogMirrorTest::checkIndexes);
            }
            names.put(database.oid(), database.name());
        }
        databaseNames = names;
    }

    /** Every system B-tree can be searched for every row that it must lead to. */
    private static int checkIndexes(Connection shadow) throws SQLException {
        int checked = 0;
        List<String> indexes = new ArrayList<>();
        try (Statement statement = shadow.createStatement()) {
            try (ResultSet row =
                    statement.executeQuery(
                            "SELECT oid FROM pg_extension WHERE extname = 'amcheck'")) {
                if (!row.next()) {
                    return 0;
                }
            }
            try (ResultSet row =
                    statement.executeQuery(
                            """
                            SELECT c.oid::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                            WHERE c.oid < 16384 AND c.relam = 403 AND i.indrelid <> 2613\
                            """)) {
                while (row.next()) {
                    indexes.add(row.getString(1));
                }
            }
            for (String index : indexes) {
                statement.execute("SELECT public.bt_index_check(" + index + ")");
                checked++;
            }
        }
        return checked;
    }

    /** One with a folder of its own, which the shadow must not touch. */
    private static void createRealTablespace(ShadowRig rig, Path root, String name)
            throws SQLException {
        Path folder = UnprivilegedUser.createDirectory(root.resolve("space-" + name));
        execute(
                rig,
                "CREATE TABLESPACE " + name + " LOCATION '" + folder + "'",
                "CREATE DATABASE " + name + " TEMPLATE template0 TABLESPACE " + name,
                "CREATE TABLE in_" + name + " (id int PRIMARY KEY, note text) TABLESPACE " + name,
                "INSERT INTO in_" + name + " VALUES (1, '" + DdlStorm.CANARY + "')");
    }

    private static void prepare(ShadowRig rig, String why, String name) throws SQLException {
        execute(
                rig,
                "BEGIN",
                "CREATE TABLE " + name + " (id int PRIMARY KEY, note text)",
                "COMMENT ON TABLE " + name + " IS '" + why + "'",
                "INSERT INTO " + name + " VALUES (1, '" + DdlStorm.CANARY + "')",
                "PREPARE TRANSACTION '" + name + "'");
    }

    private static void execute(ShadowRig rig, String... statements) throws SQLException {
        try (Connection session = rig.connect("postgres");
                Statement statement = session.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    /** After a clean stop: the shutdown restartpoint has removed the files of what was dropped. */
    private static void assertNoUserData(ShadowRig opened, EmbeddedPostgres source)
            throws Exception {
        execute(opened, "CHECKPOINT");
        opened.awaitStreamed();
        opened.read("postgres", shadow -> shadow.getCatalog());
        Set<String> system =
                ShadowFiles.systemRelations(
                        source, opened.databases().stream().map(DatabaseInfo::name).toList());
        opened.cluster().stop();
        assertThat(ShadowFiles.userRelationFiles(opened.dataDirectory(), system)).isEmpty();
        assertThat(ShadowFiles.filesWith(opened.dataDirectory(), DdlStorm.CANARY)).isEmpty();
        assertThat(ShadowFiles.filesWith(opened.archiveDirectory(), DdlStorm.CANARY)).isEmpty();
        assertThat(ShadowFiles.filesWith(source.dataDirectory(), DdlStorm.CANARY)).isNotEmpty();
    }
}
