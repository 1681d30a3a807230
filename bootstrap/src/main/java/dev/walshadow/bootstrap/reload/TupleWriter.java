package dev.walshadow.bootstrap.reload;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.bootstrap.BootstrapCodes;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.postgres.heap.HeapTupleLayout;
import dev.walshadow.postgres.heap.TupleLayout;
import dev.walshadow.postgres.value.SendForm;
import dev.walshadow.postgres.value.SendForms;
import java.util.Arrays;
import java.util.List;

/**
 * Forms tuples of COPY's rows, in the shape that WAL has: xl_heap_header, null bitmap, padding,
 * data. Values are neither compressed nor out of line, and their headers never short. Source:
 * {@code heap_form_tuple} in {@code src/backend/access/common/heaptuple.c}. Single-threaded.
 */
final class TupleWriter {
    private static final int VARLENA = -1;
    private static final int ALIGNMENT_MASK = 7;

    /** VARHDRSZ included, a varlena has less than 1 GB. */
    private static final int VARLENA_MAX = 0x3FFF_FFFF;

    private final List<AttributeDescriptor> attributes;
    private final String label;
    private final int[] fieldOf;
    private final int[] lengths;
    private final int[] masks;
    private final SendForm[] forms;

    /**
     * @param forms per field behind the first, which is the ctid
     */
    TupleWriter(LoadShape shape, List<SendForm> forms) {
        this.attributes = shape.virtual().attributes();
        this.label = shape.virtual().label();
        int count = attributes.size();
        this.fieldOf = new int[count];
        this.lengths = new int[count];
        this.masks = new int[count];
        this.forms = new SendForm[count];
        Arrays.fill(this.forms, SendForms.text());
        for (int i = 0; i < count; i++) {
            lengths[i] = attributes.get(i).length();
            masks[i] = TupleLayout.alignmentMask(attributes.get(i).alignment());
        }
        for (int i = 0; i < forms.size(); i++) {
            int attribute = shape.columns().get(i).number() - 1;
            fieldOf[attribute] = i + 1;
            this.forms[attribute] = forms.get(i);
        }
    }

    /** Appends the current row's tuple. */
    void append(CopyStream row, ByteBuilder out) {
        int count = fieldOf.length;
        boolean nulls = false;
        for (int field : fieldOf) {
            nulls |= field == 0 || row.length(field) < 0;
        }
        int bitmapLength = nulls ? (count + 7) >>> 3 : 0;
        int headerLength = HeapTupleLayout.LENGTH + bitmapLength + ALIGNMENT_MASK & ~ALIGNMENT_MASK;
        int start = out.length();
        out.putShort(count);
        out.putShort(0);
        out.putByte(headerLength);
        int bitmap = out.length();
        out.putZeros(headerLength - HeapTupleLayout.LENGTH);
        int data = out.length();
        boolean variable = false;
        for (int i = 0; i < count; i++) {
            int field = fieldOf[i];
            if (field == 0 || row.length(field) < 0) {
                continue;
            }
            if (nulls) {
                out.array()[bitmap + (i >>> 3)] |= (byte) (1 << (i & 7));
            }
            variable |= lengths[i] == VARLENA;
            out.putZeros(-(out.length() - data) & masks[i]);
            appendValue(row, field, i, out);
        }
        int infomask =
                (nulls ? HeapTupleLayout.HEAP_HASNULL : 0)
                        | (variable ? HeapTupleLayout.HEAP_HASVARWIDTH : 0);
        LittleEndian.putShort(out.array(), start + HeapTupleLayout.XL_INFOMASK, infomask);
    }

    private void appendValue(CopyStream row, int field, int i, ByteBuilder out) {
        int start = out.length();
        int expected = lengths[i];
        if (expected == VARLENA) {
            out.putInt(0);
        }
        try {
            forms[i].append(row.buffer(), row.offset(field), row.length(field), out);
        } catch (QuarantineException e) {
            throw new QuarantineException(
                    e.code(), "column " + name(i) + " as COPY gave it: " + e.getMessage(), e);
        }
        int length = out.length() - start;
        if (expected == VARLENA && length <= VARLENA_MAX) {
            LittleEndian.putInt(out.array(), start, length << 2);
        } else if (length != expected) {
            throw new QuarantineException(
                    BootstrapCodes.LOAD_COLUMN,
                    "column "
                            + name(i)
                            + " cannot be loaded: expected values of "
                            + (expected == VARLENA ? "at most " + VARLENA_MAX : "" + expected)
                            + " bytes, found "
                            + length);
        }
    }

    private String name(int i) {
        return label + "." + attributes.get(i).name();
    }
}
