package dev.walshadow.source;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.postgres.Lsn;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A real server of each major version replays the filtered WAL. */
class ReplayTest {
    @ParameterizedTest
    @ValueSource(ints = {15, 16, 17, 18})
    void catalogsEqualTheSourcesAndNoUserDataArrives(int major) throws Exception {
        RealWal wal = RealWal.of(major);
        Path root = UnprivilegedUser.temporaryDirectory("walshadow-replay-");
        try {
            Path archive = UnprivilegedUser.createDirectory(root.resolve("archive"));
            fill(archive, wal);
            EmbeddedPostgres shadow = shadow(root.resolve("shadow"), archive, wal);
            try {
                shadow.start();
                awaitEnd(shadow);
                List<String> catalogs = Catalog.dump(shadow, wal.databases);
                assertThat(catalogs).isEqualTo(wal.catalogs);
                // pg_enum and its indexes, which the crash orphaned on the source, too
                assertThat(otherFiles(shadow, wal.databases)).hasSize(4);
                assertThat(shadow.dataDirectory().resolve("base/5/2613")).doesNotExist();
            } finally {
                shadow.close();
            }
            assertThat(filesWithCanary(root)).isEmpty();
        } finally {
            RealWal.execute("rm", "-rf", root.toString());
        }
    }

    private static void fill(Path directory, RealWal wal) throws InterruptedException {
        SegmentArchive archive = new SegmentArchive(directory, wal.pages);
        StreamSnapshot first = wal.initial();
        archive.begin(first);
        StreamCapture capture = new StreamCapture(first);
        WalStream stream = new WalStream(first, wal.redo, capture, capture, archive);
        stream.push(wal.start, wal.bytes, 0, wal.bytes.length);
        assertThat(archive.segments()).hasSize(wal.bytes.length / RealWal.SEGMENT_SIZE);
        assertThat(archive.resumeAt(wal.redo).firstRecord()).isEqualTo(wal.redo);
    }

    /** Recovers to the position at which the source's catalogs were read, and then opens. */
    private static EmbeddedPostgres shadow(Path directory, Path archive, RealWal wal)
            throws IOException {
        UnprivilegedUser.createDirectory(directory);
        RealWal.execute("cp", "-a", wal.base.toString(), directory.resolve("data").toString());
        Path signal = Files.createFile(directory.resolve("data/recovery.signal"));
        UnprivilegedUser.own(signal);
        return EmbeddedPostgres.at(directory)
                .version(wal.majorVersion)
                .setting("restore_command", "cp " + archive + "/%f %p")
                .setting("recovery_target_lsn", Lsn.format(wal.end))
                .setting("recovery_target_action", "promote")
                .setting("hot_standby", "off")
                .setting("autovacuum", "off")
                .setting("allow_in_place_tablespaces", "on")
                .setting("fsync", "off")
                .build();
    }

    /** No connection is accepted before the recovery has reached its target. */
    private static void awaitEnd(EmbeddedPostgres shadow) throws SQLException, IOException {
        while (true) {
            try (Connection connection = RealWal.connect(shadow, "postgres")) {
                assertThat(connection.isValid(10)).isTrue();
                return;
            } catch (SQLException e) {
                if (!"57P03".equals(e.getSQLState()) || !shadow.isRunning()) {
                    throw new AssertionError(Files.readString(shadow.logFile()), e);
                }
                Thread.onSpinWait();
            }
        }
    }

    /** Relation files that no catalog uses. */
    private static List<String> otherFiles(EmbeddedPostgres shadow, List<String> databases)
            throws SQLException, IOException {
        Set<String> catalogs = new HashSet<>();
        for (String database : databases) {
            try (Connection connection = RealWal.connect(shadow, database);
                    Statement statement = connection.createStatement();
                    ResultSet rows =
                            statement.executeQuery(
                                    "select d.oid || '/' || pg_relation_filenode(c.oid)"
                                            + " from pg_class c, pg_database d where d.datname ="
                                            + " current_database() and c.oid < 16384"
                                            + " and c.relkind in ('r', 'i', 't')")) {
                while (rows.next()) {
                    catalogs.add(rows.getString(1));
                }
            }
        }
        List<String> others = new ArrayList<>();
        for (String tree : List.of("base", "pg_tblspc")) {
            try (Stream<Path> files = Files.walk(shadow.dataDirectory().resolve(tree))) {
                for (Path file : files.filter(Files::isRegularFile).toList()) {
                    String number = file.getFileName().toString().replaceFirst("[._].*", "");
                    String parent =
                            Objects.requireNonNull(file.getParent()).getFileName().toString();
                    if (number.matches("\\d{5,}")
                            && Long.parseLong(number) >= 16384
                            && !catalogs.contains(parent + "/" + number)) {
                        others.add(file.toString());
                    }
                }
            }
        }
        return others;
    }

    private static List<Path> filesWithCanary(Path root) throws IOException {
        List<Path> found = new ArrayList<>();
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                String text = Files.readString(file, StandardCharsets.ISO_8859_1);
                if (text.contains(Workload.CANARY)) {
                    found.add(file);
                }
            }
        }
        return found;
    }
}
