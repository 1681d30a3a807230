package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.DurableFiles;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.RelationLocator;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.InvalidRoaringFormat;
import org.roaringbitmap.RoaringBitmap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How far a load is: the blocks that were walked and whose rows are durable in the target, and how
 * much of the spool files belongs to them. Durable (I11), in the directory of the spool files;
 * replaced now and then, so that a load that was interrupted need not walk those blocks again.
 *
 * <pre>
 * "WSLC", u32 version 1, i64 system identifier, i64 B, i64 length of "externals", i64 length of
 * "deferred-spool", u32 count, i32 speculators[count],
 * u32 count, per TOAST relation: i32 oid, i64 length of its file, i32 runs of its index
 * u32 count, per relation: i32 tablespace, i32 database, i32 number, i64 rows, u32 length, damage,
 *                          i64 LSN and i32 block of a page that was ahead, u32 length, bitmap
 * u32 CRC32C of everything before it; little-endian
 * </pre>
 */
record LoadCheckpoint(
        long startLsn,
        long externals,
        long deferred,
        List<Integer> speculators,
        List<Toast> toast,
        Map<RelationLocator, Done> relations) {
    private static final Logger LOG = LoggerFactory.getLogger(LoadCheckpoint.class);
    private static final int MAGIC = 'W' | 'S' << 8 | 'L' << 16 | 'C' << 24;
    private static final int VERSION = 1;
    private static final String FILE = "checkpoint";

    /** Of a TOAST relation. */
    record Toast(int oid, long bytes, int runs) {}

    /**
     * Of a relation.
     *
     * @param blocks that were walked
     * @param damage empty if there is none
     * @param aheadLsn of a page that was changed by a record that does not name it; 0 if there is
     *     none
     */
    record Done(RoaringBitmap blocks, long rows, String damage, long aheadLsn, int aheadBlock) {}

    static LoadCheckpoint nothing(long startLsn) {
        return new LoadCheckpoint(startLsn, 0, 0, List.of(), List.of(), Map.of());
    }

    /** Whether there is one in this directory, of whatever load. */
    static boolean exists(Path directory) {
        return Files.exists(directory.resolve(FILE));
    }

    /** Blocks that need not be walked again. */
    long blocks() {
        return relations.values().stream()
                .mapToLong(each -> each.blocks().getLongCardinality())
                .sum();
    }

    static void remove(Path directory) throws IOException {
        Files.deleteIfExists(directory.resolve(FILE));
    }

    // ---- writing

    void write(Path directory, long systemIdentifier) throws IOException {
        ByteBuilder out = new ByteBuilder(1 << 16);
        out.putInt(MAGIC);
        out.putInt(VERSION);
        out.putLong(systemIdentifier);
        out.putLong(startLsn);
        out.putLong(externals);
        out.putLong(deferred);
        out.putInt(speculators.size());
        speculators.forEach(out::putInt);
        out.putInt(toast.size());
        for (Toast each : toast) {
            out.putInt(each.oid());
            out.putLong(each.bytes());
            out.putInt(each.runs());
        }
        out.putInt(relations.size());
        relations.forEach((locator, done) -> put(out, locator, done));
        CRC32C crc = new CRC32C();
        crc.update(out.array(), 0, out.length());
        out.putInt((int) crc.getValue());
        DurableFiles.replace(directory.resolve(FILE), out.array(), 0, out.length());
    }

    private static void put(ByteBuilder out, RelationLocator locator, Done done) {
        out.putInt(locator.tablespaceOid());
        out.putInt(locator.databaseOid());
        out.putInt(locator.relationNumber());
        out.putLong(done.rows());
        byte[] damage = done.damage().getBytes(StandardCharsets.UTF_8);
        out.putInt(damage.length);
        out.putBytes(damage);
        out.putLong(done.aheadLsn());
        out.putInt(done.aheadBlock());
        done.blocks().runOptimize();
        ByteBuffer bitmap =
                ByteBuffer.allocate(done.blocks().serializedSizeInBytes())
                        .order(ByteOrder.LITTLE_ENDIAN);
        done.blocks().serialize(bitmap);
        out.putInt(bitmap.capacity());
        out.putBytes(bitmap.array());
    }

    // ---- reading

    /**
     * What an earlier process left of this load; nothing, and why in the log, if it cannot be used.
     */
    static LoadCheckpoint read(Path directory, long systemIdentifier, long startLsn) {
        Path file = directory.resolve(FILE);
        if (!Files.exists(file)) {
            return nothing(startLsn);
        }
        try {
            LoadCheckpoint found = parse(Files.readAllBytes(file), systemIdentifier);
            if (found != null && found.startLsn() == startLsn && found.hasItsFiles(directory)) {
                return found;
            }
            LOG.warn("{} does not fit: what it tells of is loaded again", file);
        } catch (IOException e) {
            LOG.warn("{} cannot be read: {}; what it tells of is loaded again", file, e.toString());
        }
        return nothing(startLsn);
    }

    /**
     * The values out of line of a load that is done; nothing, and why in the log, if they cannot be
     * used.
     */
    static List<Toast> readValues(Path directory, long systemIdentifier, long startLsn) {
        Path file = directory.resolve(FILE);
        if (!Files.exists(file)) {
            return List.of();
        }
        String why = "it does not fit";
        try {
            LoadCheckpoint found = parse(Files.readAllBytes(file), systemIdentifier);
            if (found != null && found.startLsn() == startLsn && found.hasValues(directory)) {
                return found.toast();
            }
        } catch (IOException e) {
            why = e.toString();
        }
        LOG.warn(
                "{} cannot be used: {}; a table with a value that was being written when the base"
                        + " backup began will be set aside",
                file,
                why);
        return List.of();
    }

    private boolean hasItsFiles(Path directory) throws IOException {
        return has(directory, "externals", externals)
                && has(directory, "deferred-spool", deferred)
                && hasValues(directory);
    }

    private boolean hasValues(Path directory) throws IOException {
        boolean all = true;
        for (Toast each : toast) {
            String name = ToastStore.name(each.oid());
            all &= has(directory, name, each.bytes());
            all &= has(directory, ToastStore.indexName(each.oid()), ToastStore.indexBytes(each));
        }
        return all;
    }

    private static boolean has(Path directory, String name, long length) throws IOException {
        Path file = directory.resolve(name);
        return length == 0 || (Files.exists(file) && Files.size(file) >= length);
    }

    /** Null: not of this source, of a newer version, or not whole. */
    private static @Nullable LoadCheckpoint parse(byte[] bytes, long systemIdentifier) {
        int end = bytes.length - Integer.BYTES;
        if (end < Integer.BYTES) {
            return null;
        }
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, end);
        if ((int) crc.getValue() != LittleEndian.getInt(bytes, end)) {
            return null;
        }
        ByteBuffer in = ByteBuffer.wrap(bytes, 0, end).order(ByteOrder.LITTLE_ENDIAN);
        try {
            boolean own =
                    in.getInt() == MAGIC
                            && in.getInt() == VERSION
                            && in.getLong() == systemIdentifier;
            return own ? parse(in) : null;
        } catch (BufferUnderflowException | InvalidRoaringFormat | IOException e) {
            LOG.debug("a checkpoint that cannot be taken apart", e);
            return null;
        }
    }

    private static LoadCheckpoint parse(ByteBuffer in) throws IOException {
        long startLsn = in.getLong();
        long externals = in.getLong();
        long deferred = in.getLong();
        List<Integer> speculators = new ArrayList<>();
        for (int left = in.getInt(); left > 0; left--) {
            speculators.add(in.getInt());
        }
        List<Toast> toast = new ArrayList<>();
        for (int left = in.getInt(); left > 0; left--) {
            toast.add(new Toast(in.getInt(), in.getLong(), in.getInt()));
        }
        Map<RelationLocator, Done> relations = new HashMap<>();
        for (int left = in.getInt(); left > 0; left--) {
            RelationLocator locator = new RelationLocator(in.getInt(), in.getInt(), in.getInt());
            relations.put(locator, done(in));
        }
        return new LoadCheckpoint(startLsn, externals, deferred, speculators, toast, relations);
    }

    private static Done done(ByteBuffer in) throws IOException {
        long rows = in.getLong();
        String damage = new String(bytes(in), StandardCharsets.UTF_8);
        long aheadLsn = in.getLong();
        int aheadBlock = in.getInt();
        RoaringBitmap blocks = new RoaringBitmap();
        blocks.deserialize(ByteBuffer.wrap(bytes(in)).order(ByteOrder.LITTLE_ENDIAN));
        return new Done(blocks, rows, damage, aheadLsn, aheadBlock);
    }

    private static byte[] bytes(ByteBuffer in) {
        int length = in.getInt();
        if (length < 0 || length > in.remaining()) {
            throw new BufferUnderflowException();
        }
        byte[] bytes = new byte[length];
        in.get(bytes);
        return bytes;
    }
}
