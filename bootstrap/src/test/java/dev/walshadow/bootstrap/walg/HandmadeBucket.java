package dev.walshadow.bootstrap.walg;

import dev.walshadow.base.LittleEndian;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;

/** A bucket in wal-g's layout with files that a test made up. */
final class HandmadeBucket {
    static final int PAGE = 8192;
    private static final int MAP_LENGTH = 524;

    private final Path root;

    HandmadeBucket(Path root) {
        this.root = root;
    }

    Path backups() {
        return root.resolve("basebackups_005");
    }

    /** A backup's files, by path with a slash in front; an absent body is a skipped file. */
    static final class Backup {
        final String name;
        final long start;
        final Map<String, byte[]> files = new LinkedHashMap<>();
        final Map<String, String> marks = new TreeMap<>();
        String deltaFrom = "";

        Backup(String name, long start) {
            this.name = name;
            this.start = start;
            files.put("/PG_VERSION", "16\n".getBytes(StandardCharsets.US_ASCII));
            files.put("/backup_label", label(start));
            files.put("/global/pg_filenode.map", map());
            files.put("/global/pg_control", new byte[PAGE]);
        }

        Backup whole(String path, byte[] body) {
            files.put(path, body);
            return this;
        }

        Backup skipped(String path) {
            marks.put(path, "IsSkipped");
            return this;
        }

        /** Of a file that is {@code content} now, these pages. */
        Backup increment(String path, byte[] content, int... blocks) {
            ByteArrayOutputStream body = new ByteArrayOutputStream();
            byte[] header = new byte[16];
            header[0] = 'w';
            header[1] = 'i';
            header[2] = '1';
            header[3] = 0x55;
            LittleEndian.putLong(header, 4, content.length);
            LittleEndian.putInt(header, 12, blocks.length);
            body.writeBytes(header);
            byte[] number = new byte[4];
            for (int block : blocks) {
                LittleEndian.putInt(number, 0, block);
                body.writeBytes(number);
            }
            for (int block : blocks) {
                body.write(content, block * PAGE, PAGE);
            }
            files.put(path, body.toByteArray());
            marks.put(path, "IsIncremented");
            return this;
        }

        Backup on(Backup older) {
            deltaFrom = older.name;
            return this;
        }
    }

    private static byte[] label(long start) {
        return """
        START WAL LOCATION: 0/%X (file 000000010000000000000001)
        CHECKPOINT LOCATION: 0/%X
        BACKUP METHOD: streamed
        BACKUP FROM: primary
        START TIME: 2026-01-01 00:00:00 UTC
        LABEL: x
        START TIMELINE: 1
        """
                .formatted(start, start + 0x60)
                .getBytes(StandardCharsets.US_ASCII);
    }

    private static byte[] map() {
        byte[] map = new byte[MAP_LENGTH];
        LittleEndian.putInt(map, 0, 0x592717);
        LittleEndian.putInt(map, 4, 1);
        LittleEndian.putInt(map, 8, 1262);
        LittleEndian.putInt(map, 12, 1262);
        return map;
    }

    /** Two files to an archive, pg_control in its own. */
    void push(Backup backup) throws IOException {
        Path partitions = backups().resolve(backup.name).resolve("tar_partitions");
        Files.createDirectories(partitions);
        Map<String, Map<String, byte[]>> archives = new LinkedHashMap<>();
        int number = 0;
        for (Map.Entry<String, byte[]> file : backup.files.entrySet()) {
            String archive =
                    file.getKey().equals("/global/pg_control")
                            ? "pg_control.tar.gz"
                            : "part_%03d.tar.gz".formatted(1 + number++ / 2);
            archives.computeIfAbsent(archive, _ -> new LinkedHashMap<>())
                    .put(file.getKey(), file.getValue());
        }
        for (Map.Entry<String, Map<String, byte[]>> archive : archives.entrySet()) {
            try (OutputStream out =
                    new GZIPOutputStream(
                            Files.newOutputStream(partitions.resolve(archive.getKey())))) {
                tar(archive.getValue(), out);
            }
        }
        Files.writeString(
                backups().resolve(backup.name).resolve("files_metadata.json"),
                metadata(backup, archives));
        Files.writeString(
                backups().resolve(backup.name + "_backup_stop_sentinel.json"), sentinel(backup));
    }

    private static void tar(Map<String, byte[]> files, OutputStream out) throws IOException {
        TarArchiveOutputStream tar = new TarArchiveOutputStream(out);
        tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
        for (Map.Entry<String, byte[]> file : files.entrySet()) {
            TarArchiveEntry entry = new TarArchiveEntry(file.getKey(), true);
            entry.setSize(file.getValue().length);
            tar.putArchiveEntry(entry);
            tar.write(file.getValue());
            tar.closeArchiveEntry();
        }
        tar.finish();
    }

    private static String metadata(Backup backup, Map<String, Map<String, byte[]>> archives) {
        Map<String, String> marks = new TreeMap<>(backup.marks);
        backup.files.keySet().forEach(path -> marks.putIfAbsent(path, "Whole"));
        String files =
                marks.entrySet().stream()
                        .map(each ->
                                "\"%s\":{\"IsIncremented\":%b,\"IsSkipped\":%b,\"MTime\":\"x\"}"
                                        .formatted(
                                                each.getKey(),
                                                each.getValue().equals("IsIncremented"),
                                                each.getValue().equals("IsSkipped")))
                        .collect(Collectors.joining(","));
        String sets =
                archives.keySet().stream()
                        .map(each -> "\"" + each + "\":[\"x\"]")
                        .collect(Collectors.joining(","));
        return "{\"Files\":{" + files + "},\"TarFileSets\":{" + sets + "}}";
    }

    private static String sentinel(Backup backup) {
        return "{\"LSN\":%d,\"FinishLSN\":%d,\"Timeline\":1,\"PgVersion\":160004,"
                        .formatted(backup.start, backup.start + 1000)
                + "\"SystemIdentifier\":17446744073709551615,\"Version\":2,\"Spec\":{\"a\":[1]},"
                + (backup.deltaFrom.isEmpty()
                        ? ""
                        : "\"DeltaFrom\":\"" + backup.deltaFrom + "\",\"DeltaCount\":1,")
                + "\"UserData\":null}";
    }
}
