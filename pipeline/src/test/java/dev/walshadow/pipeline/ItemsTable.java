package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.postgres.RelationLocator;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A source table {@code (id bigint primary key, name text, big text, n integer)} and its tuples, as
 * PostgreSQL lays them out: {@code src/include/access/htup_details.h}, {@code varatt.h}.
 *
 * @param toastOid its TOAST relation
 * @param identity relreplident; the primary key is there in any case
 */
record ItemsTable(String schema, String name, int oid, int toastOid, char identity) {
    static final int DATABASE = 5;
    private static final int ATTRIBUTES = 4;
    private static final int HEADER = 23;

    ItemsTable(String schema, String name, int oid, int toastOid) {
        this(schema, name, oid, toastOid, 'd');
    }

    /** A value of column {@code big}. */
    record Big(@Nullable String inline, int valueId, int length) {
        static Big inline(@Nullable String text) {
            return new Big(text, 0, 0);
        }

        /** A pointer to a value out of line. */
        static Big external(int valueId, int length) {
            return new Big(null, valueId, length);
        }
    }

    RelationLocator locator() {
        return new RelationLocator(1663, DATABASE, oid);
    }

    RelationLocator toastLocator() {
        return new RelationLocator(1663, DATABASE, toastOid);
    }

    RelationDescriptor toastShape() {
        return new RelationDescriptor(
                toastOid,
                DATABASE,
                new RelationName("pg_toast", "pg_toast_" + oid),
                't',
                'p',
                toastLocator(),
                0,
                oid,
                'n',
                "heap",
                0,
                List.of(
                        attribute(1, "chunk_id", 26, 4, true, 'i', 'p', false),
                        attribute(2, "chunk_seq", 23, 4, true, 'i', 'p', false),
                        attribute(3, "chunk_data", 17, -1, false, 'i', 'p', false)),
                List.of(),
                List.of(),
                List.of(
                        type(26, "oid", 'N', 4, true, 'i'),
                        type(23, "int4", 'N', 4, true, 'i'),
                        type(17, "bytea", 'U', -1, false, 'i')));
    }

    RelationDescriptor shape() {
        return shape(locator(), List.of());
    }

    RelationDescriptor shape(RelationLocator locator, List<AttributeDescriptor> more) {
        List<AttributeDescriptor> attributes =
                new java.util.ArrayList<>(
                        List.of(
                                attribute(1, "id", 20, 8, true, 'd', 'p', true),
                                attribute(2, "name", 25, -1, false, 'i', 'x', false),
                                attribute(3, "big", 25, -1, false, 'i', 'x', false),
                                attribute(4, "n", 23, 4, true, 'i', 'p', false)));
        attributes.addAll(more);
        return new RelationDescriptor(
                oid,
                DATABASE,
                new RelationName(schema, name),
                'r',
                'p',
                locator,
                toastOid,
                0,
                identity,
                "heap",
                0,
                attributes,
                List.of(1),
                List.of(),
                List.of(
                        type(20, "int8", 'N', 8, true, 'd'),
                        type(23, "int4", 'N', 4, true, 'i'),
                        type(25, "text", 'S', -1, false, 'i')));
    }

    static AttributeDescriptor attribute(
            int number,
            String name,
            int type,
            int length,
            boolean byValue,
            char alignment,
            char storage,
            boolean notNull) {
        return new AttributeDescriptor(
                number, name, type, -1, length, byValue, alignment, storage, notNull, false, '\0',
                null);
    }

    private static TypeDescriptor type(
            int oid, String name, char category, int length, boolean byValue, char alignment) {
        return new TypeDescriptor(
                oid, "pg_catalog", name, 'b', category, 0, 0, -1, length, byValue, alignment);
    }

    /** xl_heap_header and the tuple. */
    void appendTuple(ByteBuilder out, long id, @Nullable String text, Big big, int n) {
        boolean bigNull = big.inline() == null && big.valueId() == 0;
        boolean nulls = text == null || bigNull;
        int flags = 2 | (nulls ? 1 : 0) | (big.valueId() != 0 ? 4 : 0);
        int bits = 1 | (text == null ? 0 : 2) | (bigNull ? 0 : 4) | 8;
        int data = header(out, flags, nulls ? bits : 0);
        out.putLong(id);
        if (text != null) {
            text(out, data, text);
        }
        if (big.valueId() != 0) {
            pointer(out, big);
        } else if (big.inline() != null) {
            text(out, data, big.inline());
        }
        align(out, data, 4);
        out.putInt(n);
    }

    /** The old key as it is logged: a whole tuple with only the key set. */
    void appendKey(ByteBuilder out, long id) {
        header(out, 1, 1);
        out.putLong(id);
    }

    /** xl_multi_insert_tuple and the tuple. */
    void appendMulti(ByteBuilder out, int start, long id, @Nullable String text, Big big, int n) {
        align(out, start, 2);
        ByteBuilder single = new ByteBuilder(64);
        appendTuple(single, id, text, big, n);
        out.putShort(single.length() - 5);
        out.putBytes(single.array(), 0, 5);
        out.putBytes(single.array(), 5, single.length() - 5);
    }

    /** Returns where the data starts. */
    private static int header(ByteBuilder out, int infomask, int bits) {
        out.putShort(ATTRIBUTES);
        out.putShort(infomask);
        int hoff = (HEADER + ((infomask & 1) != 0 ? 1 : 0) + 7) & ~7;
        out.putByte(hoff);
        int start = out.length();
        out.putZeros(hoff - HEADER);
        if ((infomask & 1) != 0) {
            out.array()[start] = (byte) bits;
        }
        return out.length();
    }

    private static void align(ByteBuilder out, int from, int to) {
        while ((out.length() - from) % to != 0) {
            out.putByte(0);
        }
    }

    private static void text(ByteBuilder out, int data, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (bytes.length < 127) {
            out.putByte((bytes.length + 1) << 1 | 1);
        } else {
            align(out, data, 4);
            out.putInt((bytes.length + 4) << 2);
        }
        out.putBytes(bytes);
    }

    private void pointer(ByteBuilder out, Big big) {
        out.putByte(1);
        out.putByte(18);
        out.putInt(big.length() + 4);
        out.putInt(big.length());
        out.putInt(big.valueId());
        out.putInt(toastOid);
    }

    static int intAt(ByteBuilder out, int at) {
        return LittleEndian.getInt(out.array(), at);
    }
}
