package dev.walshadow.bootstrap.reload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

final class CopyStreamTest {
    private static final List<String> ROWS = List.of("a,", "null,bcd", ",null", "xyz,12345678");

    private static byte[] stream(int extension) {
        ByteBuffer out = ByteBuffer.allocate(1000);
        out.put("PGCOPY\n".getBytes(StandardCharsets.US_ASCII));
        out.put(new byte[] {(byte) 0xFF, '\r', '\n', 0});
        out.putInt(0).putInt(extension).put(new byte[extension]);
        for (String row : ROWS) {
            String[] fields = row.split(",", -1);
            out.putShort((short) fields.length);
            for (String field : fields) {
                if (field.equals("null")) {
                    out.putInt(-1);
                } else {
                    byte[] bytes = field.getBytes(StandardCharsets.US_ASCII);
                    out.putInt(bytes.length).put(bytes);
                }
            }
        }
        out.putShort((short) -1);
        return Arrays.copyOf(out.array(), out.position());
    }

    private static void read(CopyStream stream, byte[] message, List<String> rows)
            throws SQLException {
        stream.add(message);
        while (stream.next()) {
            List<String> fields = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                fields.add(
                        stream.length(i) < 0
                                ? "null"
                                : new String(
                                        stream.buffer(),
                                        stream.offset(i),
                                        stream.length(i),
                                        StandardCharsets.US_ASCII));
            }
            rows.add(String.join(",", fields));
        }
    }

    @Test
    void givesTheSameRowsWhereverMessagesEnd() throws SQLException {
        for (int extension : new int[] {0, 5}) {
            byte[] all = stream(extension);
            for (int step = 1; step <= all.length; step++) {
                CopyStream stream = new CopyStream(2);
                List<String> rows = new ArrayList<>();
                for (int at = 0; at < all.length; at += step) {
                    assertThat(stream.ended()).isFalse();
                    read(
                            stream,
                            Arrays.copyOfRange(all, at, Math.min(all.length, at + step)),
                            rows);
                }
                assertThat(rows).as("step %d", step).isEqualTo(ROWS);
                assertThat(stream.ended()).isTrue();
            }
        }
    }

    @Test
    void isNotEndedWhereItWasCut() throws SQLException {
        byte[] all = stream(0);
        for (int cut = 0; cut < all.length; cut++) {
            CopyStream stream = new CopyStream(2);
            read(stream, Arrays.copyOf(all, cut), new ArrayList<>());
            assertThat(stream.ended()).isFalse();
        }
    }

    @Test
    void refusesWhatIsNoCopyStream() {
        byte[] otherSignature = stream(0);
        otherSignature[3] = 'x';
        byte[] flags = stream(0);
        flags[11] = 1;
        byte[] fields = stream(0);
        fields[20] = 3;
        byte[] length = stream(0);
        length[21] = (byte) 0x80;
        byte[] behindTheEnd = Arrays.copyOf(stream(0), stream(0).length + 1);
        for (byte[] bytes : List.of(otherSignature, flags, fields, length, behindTheEnd)) {
            CopyStream stream = new CopyStream(2);
            assertThatThrownBy(() -> read(stream, bytes, new ArrayList<>()))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("malformed COPY stream");
        }
    }
}
