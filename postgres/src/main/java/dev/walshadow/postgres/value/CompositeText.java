package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.postgres.heap.AttributeWalker;
import dev.walshadow.postgres.heap.TupleLayout;
import dev.walshadow.postgres.heap.TupleView;
import org.jspecify.annotations.Nullable;

/**
 * What {@code record_out} prints. A composite value is a heap tuple whose header says what it is
 * instead of who made it; its payload (behind the varlena header):
 *
 * <pre>
 *  0 i32 datum_typmod
 *  4 u32 datum_typeid
 *  8 u8[6] t_ctid, meaningless
 * 14 u16 t_infomask2, u16 t_infomask, u8 t_hoff: as xl_heap_header has them
 * 19    null bitmap, padding, data: the tuple's own, counted from its start at payload - 4
 * </pre>
 *
 * Holds views, so single-threaded. Source: {@code src/include/access/htup_details.h}, {@code
 * src/backend/utils/adt/rowtypes.c}, PostgreSQL 15-18.
 */
public final class CompositeText implements ValueCodec {
    /** Where the part that a WAL tuple has too begins. */
    private static final int WAL_PART = 14;

    /**
     * One attribute.
     *
     * @param codec null: it was dropped
     * @param missing the text of values that lack it, in the database's encoding; null for NULL
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared, never changed
    public record Field(
            int length, char alignment, @Nullable ValueCodec codec, byte @Nullable [] missing) {}

    private final Field[] fields;
    private final AttributeWalker walker;
    private final TupleView tuple = new TupleView();
    private @Nullable ByteBuilder scratch;

    public CompositeText(Field... fields) {
        this.fields = fields.clone();
        int[] lengths = new int[fields.length];
        char[] alignments = new char[fields.length];
        for (int i = 0; i < fields.length; i++) {
            lengths[i] = fields[i].length();
            alignments[i] = fields[i].alignment();
        }
        this.walker = new AttributeWalker(TupleLayout.of(lengths, alignments));
    }

    @Override
    public void appendText(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("composite", bytes, offset, length);
        if (length < WAL_PART) {
            throw Malformed.value("composite", "a tuple header", length + " bytes", offset);
        }
        tuple.wrapWal(bytes, offset + WAL_PART, length - WAL_PART);
        walker.walk(tuple);
        int start = out.length();
        out.putByte('(');
        boolean first = true;
        for (int i = 0; i < fields.length; i++) {
            if (fields[i].codec() == null) {
                continue;
            }
            if (!first) {
                out.putByte(',');
            }
            first = false;
            appendField(bytes, i, out);
            if (out.length() - start > Malformed.TEXT_LIMIT) {
                throw Malformed.value("composite", "a text below 1 GB", "more", offset);
            }
        }
        out.putByte(')');
    }

    private void appendField(byte[] bytes, int index, ByteBuilder out) {
        Field field = fields[index];
        int at = walker.offset(index);
        int length = walker.length(index);
        int start = out.length();
        if (at == AttributeWalker.NULL) {
            return;
        }
        if (at == AttributeWalker.MISSING) {
            if (field.missing() == null) {
                return;
            }
            out.putBytes(field.missing());
        } else if (field.length() == -1) {
            appendVarlena(field, bytes, at, length, out);
        } else {
            int terminator = field.length() == -2 ? 1 : 0;
            codec(field).appendText(bytes, at, length - terminator, out);
        }
        QuotedText.quoteIfNeeded(out, start, false);
    }

    /** External values never are in a composite; compressed ones may be. */
    private void appendVarlena(Field field, byte[] bytes, int at, int length, ByteBuilder out) {
        if (Varlena.isPlain(bytes, at)) {
            codec(field)
                    .appendText(
                            bytes,
                            Varlena.payloadOffset(bytes, at),
                            Varlena.payloadLength(bytes, at, length),
                            out);
            return;
        }
        ByteBuilder plain = scratch == null ? new ByteBuilder(1024) : scratch;
        // a composite inside this value has a codec of its own, and so a scratch of its own
        scratch = plain;
        plain.clear();
        Detoaster.appendInline(bytes, at, length, plain);
        codec(field).appendText(plain.array(), 0, plain.length(), out);
    }

    private static ValueCodec codec(Field field) {
        ValueCodec codec = field.codec();
        if (codec == null) {
            throw new IllegalStateException("a dropped attribute is not printed");
        }
        return codec;
    }
}
