package dev.walshadow.postgres.heap;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.value.Detoaster;
import dev.walshadow.postgres.value.ToastPointer;
import dev.walshadow.postgres.value.Varlena;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.postgresql.copy.CopyManager;
import org.postgresql.core.BaseConnection;

/**
 * A table of a real server seen from both sides: its heap pages' bytes, and PostgreSQL's own text
 * (COPY), in the same order. Needs the extension pageinspect.
 */
public final class RealTable {
    private final Connection connection;
    private final String table;

    /** One column as pg_attribute and pg_type have it. */
    public record Column(
            String name,
            int typeOid,
            int length,
            char alignment,
            boolean dropped,
            int elementOid,
            int elementLength,
            char elementAlignment) {}

    public RealTable(Connection connection, String table) {
        this.connection = connection;
        this.table = table;
    }

    public List<Column> columns() throws SQLException {
        String sql =
                "select a.attname, a.atttypid::int8, a.attlen, a.attalign, a.attisdropped,"
                        + " case when t.typcategory = 'A' then t.typelem else 0 end::int8,"
                        + " coalesce(e.typlen, 0), coalesce(e.typalign, 'c')"
                        + " from pg_attribute a left join pg_type t on t.oid = a.atttypid"
                        + " left join pg_type e on e.oid = t.typelem"
                        + " where a.attrelid = '"
                        + table
                        + "'::regclass and a.attnum > 0 order by a.attnum";
        List<Column> columns = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            while (rows.next()) {
                columns.add(
                        new Column(
                                rows.getString(1),
                                (int) rows.getLong(2),
                                rows.getInt(3),
                                rows.getString(4).charAt(0),
                                rows.getBoolean(5),
                                (int) rows.getLong(6),
                                rows.getInt(7),
                                rows.getString(8).charAt(0)));
            }
        }
        return columns;
    }

    public static TupleLayout layout(List<Column> columns) {
        int[] lengths = new int[columns.size()];
        char[] alignments = new char[columns.size()];
        for (int i = 0; i < lengths.length; i++) {
            lengths[i] = columns.get(i).length();
            alignments[i] = columns.get(i).alignment();
        }
        return TupleLayout.of(lengths, alignments);
    }

    /** Every page of the main fork. */
    public List<byte[]> pages() throws SQLException {
        List<byte[]> pages = new ArrayList<>();
        String sql =
                "select get_raw_page('"
                        + table
                        + "', g::int) from generate_series(0, pg_relation_size('"
                        + table
                        + "') / 8192 - 1) g";
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            while (rows.next()) {
                pages.add(rows.getBytes(1));
            }
        }
        return pages;
    }

    /**
     * The payload (detoasted) of every attribute of every tuple, in physical order; null for NULL;
     * a missing attribute is an empty array's identity {@link #MISSING}.
     */
    public List<byte[] @Nullable []> payloads() throws SQLException {
        List<Column> columns = columns();
        AttributeWalker walker = new AttributeWalker(layout(columns));
        HeapPage page = new HeapPage();
        TupleView tuple = new TupleView();
        List<byte[] @Nullable []> rows = new ArrayList<>();
        for (byte[] bytes : pages()) {
            if (!page.wrap(bytes, 0)) {
                continue;
            }
            for (int at = page.nextNormal(0); at != 0; at = page.nextNormal(at)) {
                page.tuple(at, tuple);
                walker.walk(tuple);
                rows.add(payloads(columns, walker, tuple));
            }
        }
        return rows;
    }

    /** Stands for an attribute that the tuple does not store. */
    public static final byte[] MISSING = new byte[0];

    private byte[] @Nullable [] payloads(
            List<Column> columns, AttributeWalker walker, TupleView tuple) throws SQLException {
        byte[] @Nullable [] values = new byte[columns.size()][];
        for (int i = 0; i < values.length; i++) {
            int offset = walker.offset(i);
            if (offset == AttributeWalker.MISSING) {
                values[i] = MISSING;
            } else if (offset != AttributeWalker.NULL) {
                values[i] =
                        payload(tuple.buffer(), offset, walker.length(i), columns.get(i).length());
            }
        }
        return values;
    }

    private byte[] payload(byte[] bytes, int offset, int length, int attlen) throws SQLException {
        ByteBuilder out = new ByteBuilder(length);
        if (attlen != -1) {
            out.putBytes(bytes, offset, length);
        } else if (Varlena.isExternal(bytes, offset)) {
            ToastPointer pointer = new ToastPointer().wrap(bytes, offset);
            byte[] stored = chunks(pointer);
            Detoaster.appendExternal(pointer, stored, 0, stored.length, out);
        } else {
            Detoaster.appendInline(bytes, offset, length, out);
        }
        return out.toByteArray();
    }

    private byte[] chunks(ToastPointer pointer) throws SQLException {
        String relation;
        try (PreparedStatement statement =
                connection.prepareStatement("select ?::int8::oid::regclass::text")) {
            statement.setLong(1, Integer.toUnsignedLong(pointer.toastRelationOid()));
            try (ResultSet rows = statement.executeQuery()) {
                rows.next();
                relation = rows.getString(1);
            }
        }
        ByteBuilder out = new ByteBuilder(pointer.storedSize());
        try (PreparedStatement statement =
                connection.prepareStatement(
                        "select chunk_data from "
                                + relation
                                + " where chunk_id = ?::int8::oid order by chunk_seq")) {
            statement.setLong(1, Integer.toUnsignedLong(pointer.valueId()));
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    out.putBytes(rows.getBytes(1));
                }
            }
        }
        return out.toByteArray();
    }

    /** What COPY prints, unescaped; null for NULL. */
    public List<@Nullable String[]> texts() throws SQLException, IOException {
        ByteArrayOutputStream copied = new ByteArrayOutputStream();
        CopyManager copy = new CopyManager((BaseConnection) connection);
        copy.copyOut("copy " + table + " to stdout", copied);
        List<@Nullable String[]> rows = new ArrayList<>();
        for (String line : copied.toString(StandardCharsets.UTF_8).split("\n", -1)) {
            if (line.isEmpty()) {
                continue;
            }
            String[] fields = line.split("\t", -1);
            @Nullable String[] values = new String[fields.length];
            for (int i = 0; i < fields.length; i++) {
                values[i] = fields[i].equals("\\N") ? null : unescape(fields[i]);
            }
            rows.add(values);
        }
        return rows;
    }

    private static String unescape(String field) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < field.length(); i++) {
            char c = field.charAt(i);
            if (c != '\\') {
                out.append(c);
                continue;
            }
            c = field.charAt(++i);
            out.append(
                    switch (c) {
                        case 'b' -> '\b';
                        case 'f' -> '\f';
                        case 'n' -> '\n';
                        case 'r' -> '\r';
                        case 't' -> '\t';
                        case 'v' -> '\013';
                        default -> c;
                    });
        }
        return out.toString();
    }

    /** The tuple's bytes as an INSERT would log them: xl_heap_header and what follows it. */
    public static byte[] walShape(TupleView tuple) {
        int body = tuple.headerOffset() + HeapTupleLayout.LENGTH;
        ByteBuilder out = new ByteBuilder(tuple.end() - body + HeapTupleLayout.XL_LENGTH);
        out.putShort(tuple.infomask2());
        out.putShort(tuple.infomask());
        out.putByte(tuple.headerLength());
        out.putBytes(tuple.buffer(), body, tuple.end() - body);
        return out.toByteArray();
    }

    /** Appends the tuple as COPY or a multi-insert would log it. */
    public static void appendMultiShape(TupleView tuple, ByteBuilder out) {
        if ((out.length() & 1) != 0) {
            out.putByte(0xEE);
        }
        int body = tuple.headerOffset() + HeapTupleLayout.LENGTH;
        int length = tuple.end() - body;
        int at = out.length();
        out.putShort(0);
        out.putShort(tuple.infomask2());
        out.putShort(tuple.infomask());
        out.putByte(tuple.headerLength());
        out.putBytes(tuple.buffer(), body, length);
        LittleEndian.putShort(out.array(), at, length);
    }
}
