package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.testkit.Installation;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A relation of more than one segment file of 1 GB, loaded and followed by the places of its rows.
 * The pages between its first rows and the end of a segment are holes in a sparse file: to
 * PostgreSQL pages that were added and never used, as after a crash. {@code -Dwalshadow.segments=N}
 * fills more segments so, {@code -Dwalshadow.major=N}.
 */
@Tag("soak")
@Timeout(900)
final class SegmentsTest {
    private static final int MAJOR = Integer.getInteger("walshadow.major", 18);

    /** Segments before the last. */
    private static final int FILLED = Integer.getInteger("walshadow.segments", 1);

    private static final long SEGMENT_BYTES = 1L << 30;
    private static final long SEGMENT_BLOCKS = SEGMENT_BYTES >> 13;

    @Test
    void rowsOfEverySegmentAreLoadedAndFollowed() throws Exception {
        try (Installation installation = Installation.start(MAJOR)) {
            installation.execute(
                    "CREATE TABLE keyless (id int, v text)",
                    "CREATE TABLE keyed (id int PRIMARY KEY, v text)");
            insert(installation, 1, 200);
            extend(installation);
            insert(installation, 201, 2_000);
            installation.startDaemon();
            installation.awaitStreaming();
            assertThat(installation.verify().reason()).isEmpty();
            assertThat(blocks(installation)).isGreaterThan(FILLED * SEGMENT_BLOCKS);
            installation.execute(
                    "UPDATE keyless SET v = v || 'x' WHERE id % 5 = 0",
                    "DELETE FROM keyless WHERE id % 11 = 0",
                    "UPDATE keyed SET v = v || 'x' WHERE id % 5 = 0",
                    "DELETE FROM keyed WHERE id % 11 = 0");
            insert(installation, 2_001, 3_000);
            assertThat(installation.verify().reason()).isEmpty();
            installation.resync("public.keyless");
            assertThat(installation.verify().reason()).isEmpty();
        }
    }

    private static void insert(Installation installation, int from, int to) throws SQLException {
        for (String table : List.of("keyless", "keyed")) {
            installation.execute(
                    "INSERT INTO %s SELECT i, repeat('v', 100) FROM generate_series(%d, %d) i"
                            .formatted(table, from, to));
        }
    }

    /** As if the server had added pages up to the end of a segment without using them. */
    private static void extend(Installation installation) throws SQLException, IOException {
        installation.execute("CHECKPOINT");
        String path = value(installation, "pg_relation_filepath('keyless')");
        Path first = installation.source().dataDirectory().resolve(path);
        installation.source().stop();
        for (int segment = 0; segment < FILLED; segment++) {
            Path file =
                    segment == 0
                            ? first
                            : first.resolveSibling(first.getFileName() + "." + segment);
            try (RandomAccessFile sparse = new RandomAccessFile(file.toFile(), "rw")) {
                sparse.setLength(SEGMENT_BYTES);
            }
            Files.setOwner(file, Files.getOwner(first));
        }
        installation.source().start();
    }

    private static long blocks(Installation installation) throws SQLException {
        return Long.parseLong(
                value(
                        installation,
                        "(SELECT max((ctid::text::point)[0])::bigint + 1 FROM keyless)"));
    }

    private static String value(Installation installation, String expression) throws SQLException {
        try (Connection session = installation.session();
                Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery("SELECT " + expression)) {
            row.next();
            return String.valueOf(row.getString(1));
        }
    }
}
