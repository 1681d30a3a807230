package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.DurableFiles;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.BootstrapCodes;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32C;

/**
 * The durable file of deferred tuple versions (I11): written once, when the backup has been walked;
 * read sequentially, as often as transactions end; deleted when the last one has ended.
 *
 * <pre>
 * frames: u32 payload length, u32 CRC32C of the payload, payload; little-endian
 * first payload:  "WSDF", u32 version 1, i64 system identifier, i64 micros of the backup's start,
 *                 i64 B, i32 nextXid, i32 oldestRunningXid, u8 overflowed, i32 count,
 *                 i32 members[count]
 * others:         i32 open inserter or 0, i32 open deleter or 0, u32 record length, stored record,
 *                 then its TOAST values: i32 relation, i32 value id, u32 length, bytes
 * last payload:   empty
 * </pre>
 */
final class DeferredFile {
    private static final int MAGIC = 'W' | 'S' << 8 | 'D' << 16 | 'F' << 24;
    private static final int VERSION = 1;
    private static final int SNAPSHOT = 24;
    private static final int FRAME_HEADER = 2 * Integer.BYTES;

    /** Of an entry: behind inserter, deleter and length. */
    private static final int RECORD = 3 * Integer.BYTES;

    private static final int FRAME_LIMIT = Integer.MAX_VALUE - 64;

    /**
     * What the file begins with.
     *
     * @param micros the backup's start
     */
    record Start(BackupSnapshot snapshot, long micros) {}

    /** Takes each payload but the first and the last; the bytes are valid during the call. */
    interface Entries {
        void entry(byte[] payload, int length) throws InterruptedException;
    }

    private final Path file;
    private final long systemIdentifier;

    DeferredFile(Path directory, long systemIdentifier) {
        this.file = directory.resolve("rows");
        this.systemIdentifier = systemIdentifier;
    }

    boolean exists() {
        return Files.exists(file);
    }

    void delete() {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw unwritable(e);
        }
    }

    // ---- writing

    /** Writes beside; {@link #finish} makes the file appear. */
    final class Writer implements AutoCloseable {
        private final Path beside = file.resolveSibling("rows.tmp");
        private final FileChannel channel;
        private final OutputStream out;
        private final ByteBuilder header = new ByteBuilder(16);
        private final CRC32C crc = new CRC32C();

        Writer(BackupSnapshot snapshot, long startMicros) {
            try {
                channel =
                        FileChannel.open(
                                beside,
                                StandardOpenOption.CREATE,
                                StandardOpenOption.TRUNCATE_EXISTING,
                                StandardOpenOption.WRITE);
                out =
                        new java.io.BufferedOutputStream(
                                java.nio.channels.Channels.newOutputStream(channel), 1 << 18);
            } catch (IOException e) {
                throw unwritable(e);
            }
            ByteBuilder first = new ByteBuilder(256);
            first.putInt(MAGIC);
            first.putInt(VERSION);
            first.putLong(systemIdentifier);
            first.putLong(startMicros);
            snapshot.encode(first);
            add(first);
        }

        void add(ByteBuilder payload) {
            crc.reset();
            crc.update(payload.array(), 0, payload.length());
            header.clear();
            header.putInt(payload.length());
            header.putInt((int) crc.getValue());
            try {
                out.write(header.array(), 0, header.length());
                out.write(payload.array(), 0, payload.length());
            } catch (IOException e) {
                throw unwritable(e);
            }
        }

        void finish() {
            add(new ByteBuilder(0));
            try {
                out.flush();
                channel.force(true);
                channel.close();
                DurableFiles.rename(beside, file);
            } catch (IOException e) {
                throw unwritable(e);
            }
        }

        @Override
        public void close() {
            try {
                channel.close();
                Files.deleteIfExists(beside);
            } catch (IOException e) {
                throw unwritable(e);
            }
        }
    }

    // ---- reading

    Start start() {
        try (DataInputStream in = open()) {
            return readFirst(in);
        } catch (IOException e) {
            throw damaged(e.toString());
        }
    }

    /** Every entry, in the order of writing. */
    void read(Entries entries) throws InterruptedException {
        try (DataInputStream in = open()) {
            readFirst(in);
            ByteBuilder payload = new ByteBuilder(1 << 16);
            long position = 1;
            while (readFrame(in, payload, position)) {
                entries.entry(payload.array(), payload.length());
                position++;
            }
            if (in.read() >= 0) {
                throw damaged("it goes on behind its last entry");
            }
        } catch (IOException e) {
            throw damaged(e.toString());
        }
    }

    /** Where the values are that came with the entries. */
    DeferredValues values() throws InterruptedException {
        DeferredValues.Index index = new DeferredValues.Index();
        long[] place = new long[1];
        try (DataInputStream in = open()) {
            place[0] = (long) FRAME_HEADER + readFirstLength(in);
        } catch (IOException e) {
            throw damaged(e.toString());
        }
        read((payload, length) -> {
            int at = RECORD + LittleEndian.getInt(payload, RECORD - Integer.BYTES);
            while (length - at >= DeferredValues.HEADER) {
                index.add(
                        LittleEndian.getInt(payload, at),
                        LittleEndian.getInt(payload, at + Integer.BYTES),
                        place[0] + FRAME_HEADER + at);
                at += DeferredValues.HEADER + LittleEndian.getInt(payload, at + 2 * Integer.BYTES);
            }
            place[0] += FRAME_HEADER + length;
        });
        return index.of(file);
    }

    /** Of the payload; the rest of the stream is of no use then. */
    private static int readFirstLength(DataInputStream in) throws IOException {
        return Integer.reverseBytes(in.readInt());
    }

    private DataInputStream open() throws IOException {
        return new DataInputStream(new BufferedInputStream(Files.newInputStream(file), 1 << 18));
    }

    private Start readFirst(DataInputStream in) throws IOException {
        ByteBuilder payload = new ByteBuilder(1 << 12);
        boolean some = readFrame(in, payload, 0);
        byte[] bytes = payload.array();
        if (!some || payload.length() < SNAPSHOT || LittleEndian.getInt(bytes, 0) != MAGIC) {
            throw damaged("it does not begin as such a file does");
        }
        int version = LittleEndian.getInt(bytes, 4);
        if (version > VERSION) {
            throw foreign("has format " + version + ", this walshadow reads " + VERSION);
        }
        if (LittleEndian.getLong(bytes, 8) != systemIdentifier) {
            throw foreign("belongs to another source cluster");
        }
        BackupSnapshot snapshot =
                BackupSnapshot.decode(bytes, SNAPSHOT, payload.length())
                        .orElseThrow(() -> damaged("its snapshot is cut off"));
        return new Start(snapshot, LittleEndian.getLong(bytes, SNAPSHOT - Long.BYTES));
    }

    /** False at the empty last frame. */
    private boolean readFrame(DataInputStream in, ByteBuilder payload, long number)
            throws IOException {
        try {
            int length = Integer.reverseBytes(in.readInt());
            int expected = Integer.reverseBytes(in.readInt());
            payload.clear();
            if (length == 0 && expected == 0) {
                return false;
            }
            if (length <= 0 || length > FRAME_LIMIT || length > Files.size(file)) {
                throw damaged("entry " + number + " claims " + length + " bytes");
            }
            payload.ensure(length);
            in.readFully(payload.array(), 0, length);
            payload.setLength(length);
            CRC32C crc = new CRC32C();
            crc.update(payload.array(), 0, length);
            if ((int) crc.getValue() != expected) {
                throw damaged("the checksum of entry " + number + " is wrong");
            }
            return true;
        } catch (EOFException e) {
            throw damaged("it ends within entry " + number);
        }
    }

    private ConfigurationException damaged(String found) {
        return new ConfigurationException(
                BootstrapCodes.DEFERRED_DAMAGED,
                "the file of deferred rows "
                        + file
                        + " is damaged: "
                        + found
                        + "; restore it from a copy, or attach anew with an empty [state] dir."
                        + " Nothing was changed");
    }

    private ConfigurationException foreign(String found) {
        return new ConfigurationException(
                BootstrapCodes.DEFERRED_FOREIGN,
                "the file of deferred rows "
                        + file
                        + " "
                        + found
                        + "; use the state directory that belongs to this source and release");
    }

    private RetryException unwritable(IOException e) {
        return new RetryException(
                BootstrapCodes.SPOOL,
                "the file of deferred rows "
                        + file
                        + " cannot be written: "
                        + e
                        + "; make room in the state directory",
                e);
    }
}
