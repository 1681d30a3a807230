package dev.walshadow.pipeline;

import java.math.BigInteger;

/** Versions as ClickHouse has them (UInt128). */
final class Versions {
    private Versions() {}

    /**
     * @param high commit position
     * @param low record LSN with the lowest bit 0 for a tombstone
     */
    static BigInteger of(long high, long low) {
        BigInteger above = new BigInteger(Long.toUnsignedString(high));
        return above.shiftLeft(Long.SIZE).or(new BigInteger(Long.toUnsignedString(low)));
    }
}
