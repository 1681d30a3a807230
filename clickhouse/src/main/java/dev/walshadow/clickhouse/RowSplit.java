package dev.walshadow.clickhouse;

/** To which of several places each row of a block goes, numbered from 0. Immutable. */
public final class RowSplit {
    /** More would not fit the numbers that are kept here. */
    public static final int MAX_PLACES = Short.MAX_VALUE;

    private final short[] places;
    private final int[] counts;

    private RowSplit(short[] places, int[] counts) {
        this.places = places;
        this.counts = counts;
    }

    /** By the remainder of each row's hash, unsigned, by the number of places. */
    public static RowSplit byHash(long[] hashes, int places) {
        short[] of = new short[hashes.length];
        int[] counts = new int[places];
        for (int row = 0; row < of.length; row++) {
            int place = place(hashes[row], places);
            of[row] = (short) place;
            counts[place]++;
        }
        return new RowSplit(of, counts);
    }

    /** As {@code hash % places} of ClickHouse's UInt64. */
    static int place(long hash, int places) {
        return (int) Long.remainderUnsigned(hash, places);
    }

    /** How many rows go there. */
    public int count(int place) {
        return counts[place];
    }

    /** By row. */
    short[] places() {
        return places;
    }
}
