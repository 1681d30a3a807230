package dev.walshadow.fuzz;

import dev.walshadow.base.LittleEndian;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.CRC32C;

/** Mends the checksum of what a fuzzer made, so that the reader behind it is reached. */
public final class Sealed {
    private Sealed() {}

    /** The bytes, then their CRC32C. */
    public static byte[] withChecksum(byte[] bytes) {
        byte[] sealed = Arrays.copyOf(bytes, bytes.length + Integer.BYTES);
        LittleEndian.putInt(sealed, bytes.length, crc(bytes, 0, bytes.length));
        return sealed;
    }

    /** The bytes as a text, then a line with its CRC32C. */
    public static byte[] text(byte[] bytes, String form) {
        String text = new String(bytes, StandardCharsets.UTF_8);
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        long crc = Integer.toUnsignedLong(crc(body, 0, body.length));
        return (text + String.format(form, crc)).getBytes(StandardCharsets.UTF_8);
    }

    public static int crc(byte[] bytes, int offset, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, offset, length);
        return (int) crc.getValue();
    }
}
