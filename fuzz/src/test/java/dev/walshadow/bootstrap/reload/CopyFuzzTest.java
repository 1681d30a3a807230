package dev.walshadow.bootstrap.reload;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.Invariant;
import java.sql.SQLException;
import java.util.Arrays;

/** A binary COPY stream of any bytes: the same rows or the same failure in messages of any size. */
final class CopyFuzzTest {
    private static final byte[] START = {
        'P', 'G', 'C', 'O', 'P', 'Y', '\n', (byte) 0xFF, '\r', '\n', 0, 0, 0, 0, 0, 0, 0, 0, 0
    };

    /** First byte: the number of fields; second: the length of the messages; then behind START. */
    @FuzzTest(maxDuration = "1m")
    void rows(byte[] bytes) {
        if (bytes.length < 2) {
            return;
        }
        int fields = bytes[0] & 3;
        int piece = 1 + (bytes[1] & 0x3F);
        byte[] body = Arrays.copyOfRange(bytes, 2, bytes.length);
        byte[] stream = Arrays.copyOf(START, START.length + body.length);
        System.arraycopy(body, 0, stream, START.length, body.length);
        String whole = read(stream, fields, stream.length);
        Invariant.check(whole.equals(read(stream, fields, piece)), "messages do not matter");
        String raw = read(body, fields, Math.max(1, body.length));
        Invariant.check(raw.equals(read(body, fields, piece)), "messages do not matter");
    }

    private static String read(byte[] stream, int fields, int piece) {
        StringBuilder told = new StringBuilder();
        CopyStream copy = new CopyStream(fields);
        try {
            for (int at = 0; at < stream.length; at += piece) {
                copy.add(Arrays.copyOfRange(stream, at, Math.min(stream.length, at + piece)));
                while (copy.next()) {
                    for (int i = 0; i < fields; i++) {
                        int length = copy.length(i);
                        Invariant.check(
                                length >= -1 && copy.offset(i) + length <= copy.buffer().length,
                                "a field lies inside its message");
                        told.append(length).append(',');
                    }
                    told.append(';');
                }
            }
        } catch (SQLException e) {
            told.append('!');
        }
        return told.append(copy.ended()).toString();
    }
}
