package dev.walshadow.clickhouse;

import dev.walshadow.base.LittleEndian;

/**
 * SipHash-2-4 under the key 0, as ClickHouse's {@code sipHash64} has it of bytes; of several values
 * it takes the hash of the hash so far and the next value's hash, side by side ({@code
 * FunctionsHashing.h}).
 */
final class SipHash {
    private static final long V0 = 0x736f6d6570736575L;
    private static final long V1 = 0x646f72616e646f6dL;
    private static final long V2 = 0x6c7967656e657261L;
    private static final long V3 = 0x7465646279746573L;

    private SipHash() {}

    static long of(byte[] bytes, int offset, int length) {
        State state = new State();
        int whole = offset + (length & ~7);
        for (int at = offset; at < whole; at += Long.BYTES) {
            state.word(LittleEndian.getLong(bytes, at));
        }
        long last = (long) length << 56;
        for (int i = 0; i < (length & 7); i++) {
            last |= (bytes[whole + i] & 0xFFL) << (8 * i);
        }
        return state.end(last);
    }

    /** Of what was hashed so far, with one more value. */
    static long combine(long sofar, long next) {
        State state = new State();
        state.word(sofar);
        state.word(next);
        return state.end((long) (2 * Long.BYTES) << 56);
    }

    /** Does not leave this class, so that none is made where it is used. */
    private static final class State {
        private long v0 = V0;
        private long v1 = V1;
        private long v2 = V2;
        private long v3 = V3;

        void word(long word) {
            v3 ^= word;
            round();
            round();
            v0 ^= word;
        }

        long end(long last) {
            word(last);
            v2 ^= 0xFF;
            round();
            round();
            round();
            round();
            return v0 ^ v1 ^ v2 ^ v3;
        }

        private void round() {
            v0 += v1;
            v1 = Long.rotateLeft(v1, 13) ^ v0;
            v0 = Long.rotateLeft(v0, 32);
            v2 += v3;
            v3 = Long.rotateLeft(v3, 16) ^ v2;
            v0 += v3;
            v3 = Long.rotateLeft(v3, 21) ^ v0;
            v2 += v1;
            v1 = Long.rotateLeft(v1, 17) ^ v2;
            v2 = Long.rotateLeft(v2, 32);
        }
    }
}
