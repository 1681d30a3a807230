package dev.walshadow.testkit.store;

import com.github.luben.zstd.ZstdOutputStream;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.source.replication.BaseBackupOptions;
import dev.walshadow.source.replication.BaseBackupSink;
import dev.walshadow.source.replication.ConnectionSettings;
import dev.walshadow.source.replication.ReplicationConnection;
import dev.walshadow.source.replication.SystemIdentity;
import dev.walshadow.source.store.Compression;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.zip.GZIPOutputStream;
import net.jpountz.lz4.LZ4FrameOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.tukaani.xz.LZMA2Options;
import org.tukaani.xz.LZMAOutputStream;

/**
 * Puts base backups of a real server into a directory in wal-g's layout: partitioned, compressed,
 * full or as the pages that changed since another one.
 */
public final class WalgBucket {
    private static final int PAGE = 8192;
    private static final int FILES_PER_ARCHIVE = 120;
    private static final String CONTROL = "global/pg_control";
    private static final Pattern PAGED =
            Pattern.compile("(?:base|pg_tblspc)/.*/[0-9]+(?:\\.[0-9]+)?");

    private final Path root;
    private final Compression compression;
    private final Map<String, Pushed> pushed = new HashMap<>();

    private record Pushed(long startLsn, Set<String> files) {}

    /**
     * An empty one, into which a server's {@code archive_command} may write.
     *
     * @param folder that everybody may come to see
     */
    public static Path createIn(Path folder) throws IOException {
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        Path bucket = UnprivilegedUser.createDirectory(folder.resolve("bucket"));
        UnprivilegedUser.createDirectory(segments(bucket));
        return bucket;
    }

    /** Where a bucket's segments lie. */
    public static Path segments(Path bucket) {
        return bucket.resolve("wal_005");
    }

    /** A server that archives its WAL into a bucket, as wal-g would. */
    public static EmbeddedPostgres.Builder archiving(EmbeddedPostgres.Builder source, Path bucket) {
        String target = segments(bucket) + "/%f.gz";
        return source.setting("archive_mode", "on")
                .setting(
                        "archive_command",
                        "gzip -c %p > " + target + ".tmp && mv " + target + ".tmp " + target);
    }

    public WalgBucket(Path root, Compression compression) {
        this.root = root;
        this.compression = compression;
    }

    /** Takes a full backup now. Returns its name. */
    public String push(EmbeddedPostgres source) {
        return push(source, "");
    }

    /**
     * @param older what a delta builds on; empty for a full one
     */
    public String push(EmbeddedPostgres source, String older) {
        return push(source, older, () -> {});
    }

    /**
     * @param meanwhile runs between the backup's start and its end
     */
    public String push(EmbeddedPostgres source, String older, Runnable meanwhile) {
        Received received = new Received(meanwhile);
        try (ReplicationConnection connection =
                ReplicationConnection.connect(ConnectionSettings.parse(source.url("postgres")))) {
            connection.baseBackup(BaseBackupOptions.DEFAULT, received);
            return new Writing(received, older).write(connection.identifySystem());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    /** The archives as the server sends them. */
    private static final class Received implements BaseBackupSink {
        private final Map<String, ByteArrayOutputStream> archives = new TreeMap<>();
        private ByteArrayOutputStream current = new ByteArrayOutputStream();
        private long startLsn;
        private long endLsn;
        private int timeline;
        private final Runnable meanwhile;

        private Received(Runnable meanwhile) {
            this.meanwhile = meanwhile;
        }

        @Override
        public void start(long lsn, int onTimeline, List<Tablespace> tablespaces) {
            startLsn = lsn;
            timeline = onTimeline;
            meanwhile.run();
        }

        @Override
        public void archive(String name, String path) {
            current = archives.computeIfAbsent(name, _ -> new ByteArrayOutputStream());
        }

        @Override
        public void data(byte[] data, int offset, int length) {
            current.write(data, offset, length);
        }

        @Override
        public void end(long lsn, int onTimeline) {
            endLsn = lsn;
        }
    }

    /** One backup on its way into the bucket. */
    private final class Writing {
        private final Received received;
        private final String older;
        private final String name;
        private final Path partitions;
        private final Map<String, String> marks = new TreeMap<>();
        private final Map<String, List<String>> archives = new TreeMap<>();
        private final List<String> inArchive = new ArrayList<>();
        private TarArchiveOutputStream tar;
        private int number = 1;

        private Writing(Received received, String older) throws IOException {
            this.received = received;
            this.older = older;
            String full = "base_" + segment(received.startLsn);
            this.name =
                    older.isEmpty()
                            ? full
                            : full
                                    + "_D_"
                                    + older.substring("base_".length(), "base_".length() + 24);
            this.partitions =
                    Files.createDirectories(
                            root.resolve("basebackups_005")
                                    .resolve(name)
                                    .resolve("tar_partitions"));
            this.tar = open(archive(number));
        }

        private String segment(long lsn) {
            return String.format(
                    Locale.ROOT, "%08X%08X%08X", received.timeline, lsn >>> 32, lsn >>> 24 & 0xFF);
        }

        private String archive(int which) {
            return String.format(Locale.ROOT, "part_%03d.tar", which) + compression.suffix();
        }

        private TarArchiveOutputStream open(String archive) throws IOException {
            TarArchiveOutputStream out =
                    new TarArchiveOutputStream(
                            compressing(
                                    new BufferedOutputStream(
                                            Files.newOutputStream(partitions.resolve(archive)))));
            out.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
            return out;
        }

        private String write(SystemIdentity identity) throws IOException {
            byte[] control = new byte[0];
            for (Map.Entry<String, ByteArrayOutputStream> archive : received.archives.entrySet()) {
                String prefix =
                        archive.getKey().equals("base.tar")
                                ? ""
                                : "pg_tblspc/" + archive.getKey().replace(".tar", "") + "/";
                try (TarArchiveInputStream in =
                        new TarArchiveInputStream(
                                new ByteArrayInputStream(archive.getValue().toByteArray()))) {
                    for (TarArchiveEntry entry = in.getNextEntry();
                            entry != null;
                            entry = in.getNextEntry()) {
                        String path = prefix + entry.getName();
                        if (path.equals(CONTROL)) {
                            control = in.readAllBytes();
                        } else if (entry.isFile()) {
                            file(path, in);
                        }
                    }
                }
            }
            finish(archive(number));
            tar = open("pg_control.tar" + compression.suffix());
            put(CONTROL, control);
            finish("pg_control.tar" + compression.suffix());
            Files.writeString(partitions.resolveSibling("files_metadata.json"), metadata());
            Files.writeString(
                    root.resolve("basebackups_005").resolve(name + "_backup_stop_sentinel.json"),
                    sentinel(identity.systemIdentifier()));
            pushed.put(name, new Pushed(received.startLsn, new HashSet<>(marks.keySet())));
            return name;
        }

        private void file(String path, InputStream in) throws IOException {
            byte[] body = in.readAllBytes();
            Pushed base = pushed.get(older);
            boolean paged =
                    body.length > 0 && body.length % PAGE == 0 && PAGED.matcher(path).matches();
            if (base == null || !paged || !base.files.contains("/" + path)) {
                marks.put("/" + path, "Whole");
                put(path, body);
                return;
            }
            List<Integer> blocks = changed(body, base.startLsn);
            if (blocks.isEmpty()) {
                marks.put("/" + path, "IsSkipped");
            } else {
                marks.put("/" + path, "IsIncremented");
                put(path, increment(body, blocks));
            }
        }

        private void put(String path, byte[] body) throws IOException {
            TarArchiveEntry entry = new TarArchiveEntry("/" + path, true);
            entry.setSize(body.length);
            tar.putArchiveEntry(entry);
            tar.write(body);
            tar.closeArchiveEntry();
            inArchive.add("/" + path);
            if (inArchive.size() == FILES_PER_ARCHIVE) {
                finish(archive(number));
                tar = open(archive(++number));
            }
        }

        private void finish(String archive) throws IOException {
            tar.close();
            archives.put(archive, List.copyOf(inArchive));
            inArchive.clear();
        }

        private String metadata() {
            return "{\"Files\":{"
                    + marks.entrySet().stream()
                            .map(each ->
                                    "\"%s\":{\"IsIncremented\":%b,\"IsSkipped\":%b}"
                                            .formatted(
                                                    each.getKey(),
                                                    each.getValue().equals("IsIncremented"),
                                                    each.getValue().equals("IsSkipped")))
                            .collect(Collectors.joining(","))
                    + "},\"TarFileSets\":{"
                    + archives.entrySet().stream()
                            .map(each ->
                                    "\""
                                            + each.getKey()
                                            + "\":"
                                            + each.getValue().stream()
                                                    .map(file -> "\"" + file + "\"")
                                                    .collect(Collectors.joining(",", "[", "]")))
                            .collect(Collectors.joining(","))
                    + "}}";
        }

        private String sentinel(long systemIdentifier) {
            return "{\"LSN\":%d,\"FinishLSN\":%d,\"Timeline\":%d,\"SystemIdentifier\":%s,"
                            .formatted(
                                    received.startLsn,
                                    received.endLsn,
                                    received.timeline,
                                    Long.toUnsignedString(systemIdentifier))
                    + (older.isEmpty()
                            ? ""
                            : "\"DeltaFrom\":\"%s\",\"DeltaLSN\":%d,"
                                    .formatted(
                                            older,
                                            Objects.requireNonNull(pushed.get(older)).startLsn))
                    + "\"Version\":2}";
        }
    }

    private OutputStream compressing(OutputStream out) throws IOException {
        return switch (compression) {
            case LZ4 -> new LZ4FrameOutputStream(out);
            case ZSTD -> new ZstdOutputStream(out);
            case LZMA -> new LZMAOutputStream(out, new LZMA2Options(1), -1);
            case GZIP -> new GZIPOutputStream(out);
            case NONE -> out;
            case BROTLI -> throw new IllegalArgumentException("nobody encodes brotli in Java");
        };
    }

    /** Pages that a record from {@code since} on has changed, or that are new. */
    private static List<Integer> changed(byte[] file, long since) {
        List<Integer> blocks = new ArrayList<>();
        for (int block = 0; block < file.length / PAGE; block++) {
            int at = block * PAGE;
            long lsn =
                    (long) LittleEndian.getInt(file, at) << 32
                            | Integer.toUnsignedLong(LittleEndian.getInt(file, at + 4));
            boolean isNew = LittleEndian.getUnsignedShort(file, at + 14) == 0;
            if (isNew || lsn >= since) {
                blocks.add(block);
            }
        }
        return blocks;
    }

    private static byte[] increment(byte[] file, List<Integer> blocks) {
        byte[] body = new byte[16 + blocks.size() * (4 + PAGE)];
        LittleEndian.putInt(body, 0, 'w' | 'i' << 8 | '1' << 16 | 0x55 << 24);
        LittleEndian.putLong(body, 4, file.length);
        LittleEndian.putInt(body, 12, blocks.size());
        for (int i = 0; i < blocks.size(); i++) {
            LittleEndian.putInt(body, 16 + 4 * i, blocks.get(i));
            System.arraycopy(
                    file, blocks.get(i) * PAGE, body, 16 + 4 * blocks.size() + PAGE * i, PAGE);
        }
        return body;
    }
}
