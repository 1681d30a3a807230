package dev.walshadow.postgres.heap;

import dev.walshadow.base.Invariant;

/** What the walk over a tuple has to know of each attribute, dropped ones included. Immutable. */
public final class TupleLayout {
    private final int[] lengths;
    private final int[] alignmentMasks;

    private TupleLayout(int[] lengths, int[] alignmentMasks) {
        this.lengths = lengths;
        this.alignmentMasks = alignmentMasks;
    }

    /**
     * @param lengths attlen: above 0 fixed bytes, -1 varlena, -2 C string
     * @param alignments attalign: 'c', 's', 'i' or 'd'
     */
    public static TupleLayout of(int[] lengths, char[] alignments) {
        Invariant.check(lengths.length == alignments.length, "one alignment per attribute");
        int[] masks = new int[lengths.length];
        for (int i = 0; i < lengths.length; i++) {
            Invariant.check(
                    lengths[i] > 0 || lengths[i] == -1 || lengths[i] == -2,
                    "attlen is positive, -1 or -2");
            masks[i] = alignmentMask(alignments[i]);
        }
        return new TupleLayout(lengths.clone(), masks);
    }

    /** 0, 1, 3 or 7 for attalign 'c', 's', 'i' or 'd'. */
    public static int alignmentMask(char alignment) {
        return switch (alignment) {
            case 'c' -> 0;
            case 's' -> 1;
            case 'i' -> 3;
            case 'd' -> 7;
            default -> {
                Invariant.check(false, "attalign is one of c, s, i, d");
                yield 0;
            }
        };
    }

    public int attributeCount() {
        return lengths.length;
    }

    public int length(int attributeIndex) {
        return lengths[attributeIndex];
    }

    int[] lengths() {
        return lengths;
    }

    int[] alignmentMasks() {
        return alignmentMasks;
    }
}
