package dev.walshadow.catalog;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.DurableFiles;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.WalshadowException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * The file below the descriptor log: frames appended durably, read back once at the opening. A bad
 * frame with no good frame behind it is the torn end of an append that never returned, and is cut
 * off; a bad frame before a good one is damage and refused. Not thread safe.
 */
final class DescriptorLogFile implements AutoCloseable {
    /** Where the bodies of the good frames go at the opening. */
    interface FrameSink {
        void frame(byte[] bytes, int offset, int length);

        /**
         * All good frames have been handed over, nothing is changed yet.
         *
         * @return what is missing, in words; null: nothing
         */
        default @Nullable String missing() {
            return null;
        }
    }

    private final Path path;
    private final long systemIdentifier;
    private final ByteBuilder scratch = new ByteBuilder(1 << 12);
    private FileChannel channel;
    private long position;
    private int nextNumber;

    private DescriptorLogFile(Path path, long systemIdentifier, FileChannel channel) {
        this.path = path;
        this.systemIdentifier = systemIdentifier;
        this.channel = channel;
    }

    /** Opens the file, or makes an empty one, and hands every good frame's body to {@code sink}. */
    static DescriptorLogFile open(Path path, long systemIdentifier, FrameSink sink) {
        try {
            if (!Files.exists(path)) {
                String missing = sink.missing();
                if (missing != null) {
                    throw corrupt(path, 0, missing + ", the file is gone");
                }
                Files.createDirectories(path.toAbsolutePath().getParent());
                DurableFiles.replace(path, DescriptorLogLayout.header(systemIdentifier));
            }
            byte[] bytes = Files.readAllBytes(path);
            checkHeader(path, bytes, systemIdentifier);
            FileChannel channel =
                    FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
            DescriptorLogFile file = new DescriptorLogFile(path, systemIdentifier, channel);
            try {
                file.read(bytes, sink);
                file.upgrade(bytes);
            } catch (IOException | WalshadowException e) {
                channel.close();
                throw e;
            }
            return file;
        } catch (IOException e) {
            throw notWritable(path, e);
        }
    }

    /**
     * Hands every good frame's body to {@code sink} and changes nothing: the file may be another
     * process's. A torn end is passed over.
     *
     * @return the system identifier of the cluster that the file belongs to
     */
    static long readOnly(Path path, FrameSink sink) {
        try {
            byte[] bytes = Files.readAllBytes(path);
            long owner =
                    bytes.length < DescriptorLogLayout.HEADER_LENGTH
                            ? 0
                            : LittleEndian.getLong(bytes, DescriptorLogLayout.SYSTEM_IDENTIFIER_AT);
            checkHeader(path, bytes, owner);
            scan(path, bytes, sink);
            return owner;
        } catch (IOException e) {
            throw notWritable(path, e);
        }
    }

    /** The good frames from the beginning. */
    private record Scan(int frames, int end) {}

    private static void checkHeader(Path path, byte[] bytes, long systemIdentifier) {
        if (bytes.length < DescriptorLogLayout.HEADER_LENGTH
                || LittleEndian.getLong(bytes, DescriptorLogLayout.MAGIC_AT)
                        != DescriptorLogLayout.MAGIC) {
            throw corrupt(path, 0, "a descriptor log's header, found other bytes");
        }
        int version = LittleEndian.getInt(bytes, DescriptorLogLayout.VERSION_AT);
        if (Integer.compareUnsigned(version, DescriptorLogLayout.VERSION) > 0) {
            throw new ConfigurationException(
                    CatalogCodes.LOG_TOO_NEW,
                    path
                            + " was written by a newer walshadow: expected format version "
                            + DescriptorLogLayout.VERSION
                            + ", found "
                            + Integer.toUnsignedString(version)
                            + ". Run that version; nothing was changed.");
        }
        if (Integer.compareUnsigned(version, DescriptorLogLayout.OLDEST_VERSION) < 0) {
            throw new ConfigurationException(
                    CatalogCodes.LOG_TOO_OLD,
                    path
                            + " was written by an older walshadow: expected format version "
                            + DescriptorLogLayout.OLDEST_VERSION
                            + " or later"
                            + ", found "
                            + Integer.toUnsignedString(version)
                            + ". Run that version, or begin anew with an empty state directory;"
                            + " nothing was changed.");
        }
        if (LittleEndian.getInt(bytes, DescriptorLogLayout.HEADER_CRC_AT)
                != DescriptorLogLayout.crc(bytes, 0, DescriptorLogLayout.HEADER_CRC_AT)) {
            throw corrupt(path, 0, "a header whose CRC is right");
        }
        long found = LittleEndian.getLong(bytes, DescriptorLogLayout.SYSTEM_IDENTIFIER_AT);
        if (found != systemIdentifier) {
            throw new ConfigurationException(
                    CatalogCodes.LOG_FOREIGN,
                    path
                            + " belongs to another PostgreSQL cluster: expected system identifier "
                            + Long.toUnsignedString(systemIdentifier)
                            + ", found "
                            + Long.toUnsignedString(found)
                            + ". Use another state directory; nothing was changed.");
        }
    }

    private void read(byte[] bytes, FrameSink sink) throws IOException {
        Scan good = scan(path, bytes, sink);
        String missing = sink.missing();
        if (missing != null) {
            throw corrupt(path, good.end(), missing);
        }
        nextNumber = good.frames();
        position = good.end();
        if (position < bytes.length) {
            channel.truncate(position);
            channel.force(true);
        }
        padEnd();
    }

    private static Scan scan(Path path, byte[] bytes, FrameSink sink) {
        int at = DescriptorLogLayout.HEADER_LENGTH;
        int frames = 0;
        while (at < bytes.length) {
            if (!DescriptorLogLayout.isFrame(bytes, at, bytes.length)) {
                refuseDamage(path, bytes, at);
                break;
            }
            int number = LittleEndian.getInt(bytes, at + DescriptorLogLayout.NUMBER_AT);
            if (number != frames) {
                throw corrupt(path, at, "frame number " + frames + ", found " + number);
            }
            int length = LittleEndian.getInt(bytes, at + DescriptorLogLayout.BODY_LENGTH_AT);
            sink.frame(bytes, at + DescriptorLogLayout.FRAME_HEADER_LENGTH, length);
            frames++;
            at = (int) Math.min(bytes.length, at + DescriptorLogLayout.frameLength(length));
        }
        return new Scan(frames, at);
    }

    /** An older version must not read what is appended from now on. */
    private void upgrade(byte[] bytes) {
        int version = LittleEndian.getInt(bytes, DescriptorLogLayout.VERSION_AT);
        if (version != DescriptorLogLayout.VERSION) {
            int begin = DescriptorLogLayout.HEADER_LENGTH;
            ByteBuilder frames = new ByteBuilder((int) position);
            frames.putBytes(bytes, begin, (int) Math.min(position, bytes.length) - begin);
            frames.putZeros((int) position - begin - frames.length());
            replace(frames, nextNumber);
        }
    }

    /** A torn append can have lost the padding of a frame that is good otherwise. */
    private void padEnd() throws IOException {
        int misaligned = (int) (position % DescriptorLogLayout.FRAME_ALIGNMENT);
        if (misaligned != 0) {
            write(ByteBuffer.allocate(DescriptorLogLayout.FRAME_ALIGNMENT - misaligned));
            channel.force(true);
        }
    }

    private static void refuseDamage(Path path, byte[] bytes, int bad) {
        int step = DescriptorLogLayout.FRAME_ALIGNMENT;
        for (int at = bad + step; at < bytes.length; at += step) {
            if (DescriptorLogLayout.isFrame(bytes, at, bytes.length)) {
                throw corrupt(path, bad, "a whole frame, since one follows at byte " + at);
            }
        }
    }

    long length() {
        return position;
    }

    /** Appends one frame; durable on return. */
    void append(ByteBuilder body) {
        scratch.clear();
        putFrame(body, scratch, nextNumber);
        try {
            write(ByteBuffer.wrap(scratch.array(), 0, scratch.length()));
            channel.force(false);
        } catch (IOException e) {
            throw notWritable(path, e);
        }
        nextNumber++;
    }

    private void write(ByteBuffer buffer) throws IOException {
        while (buffer.hasRemaining()) {
            position += channel.write(buffer, position);
        }
    }

    static void putFrame(ByteBuilder body, ByteBuilder out, int number) {
        int start = out.length();
        int length = body.length();
        out.putZeros(DescriptorLogLayout.FRAME_HEADER_LENGTH);
        out.putBytes(body.array(), 0, length);
        byte[] array = out.array();
        LittleEndian.putInt(array, start + DescriptorLogLayout.BODY_LENGTH_AT, length);
        LittleEndian.putInt(
                array,
                start + DescriptorLogLayout.BODY_CRC_AT,
                DescriptorLogLayout.crc(body.array(), 0, length));
        LittleEndian.putInt(array, start + DescriptorLogLayout.NUMBER_AT, number);
        LittleEndian.putInt(
                array,
                start + DescriptorLogLayout.FRAME_CRC_AT,
                DescriptorLogLayout.crc(array, start, DescriptorLogLayout.FRAME_CRC_AT));
        out.putZeros((int) (start + DescriptorLogLayout.frameLength(length)) - out.length());
        Invariant.check(
                DescriptorLogLayout.isFrame(out.array(), start, out.length()),
                "a written frame reads back");
    }

    /** Replaces the whole content by these frames ({@link #putFrame}, numbered from 0). */
    void replace(ByteBuilder frames, int count) {
        ByteBuilder whole = new ByteBuilder(frames.length() + DescriptorLogLayout.HEADER_LENGTH);
        whole.putBytes(DescriptorLogLayout.header(systemIdentifier));
        whole.putBytes(frames.array(), 0, frames.length());
        try {
            DurableFiles.replace(path, whole.array(), 0, whole.length());
            channel.close();
            channel = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
        } catch (IOException e) {
            throw notWritable(path, e);
        }
        position = whole.length();
        nextNumber = count;
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw notWritable(path, e);
        }
    }

    private static HaltException corrupt(Path path, int at, String expected) {
        return new HaltException(
                CatalogCodes.LOG_CORRUPT,
                path
                        + " is damaged at byte "
                        + at
                        + ": expected "
                        + expected
                        + ". Nothing was changed: restore the state directory from a copy, or"
                        + " bootstrap anew with a fresh one.");
    }

    private static HaltException notWritable(Path path, IOException cause) {
        return new HaltException(
                CatalogCodes.LOG_NOT_WRITABLE,
                path
                        + " cannot be read or written ("
                        + cause
                        + "). Check the disk's space and the directory's rights, then start again.",
                cause);
    }
}
