package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.postgres.heap.AttributeWalker;
import dev.walshadow.postgres.heap.HeapPage;
import dev.walshadow.postgres.heap.TupleLayout;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.postgres.value.Detoaster;
import dev.walshadow.postgres.value.ToastPointer;
import dev.walshadow.postgres.value.Varlena;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.transaction.ToastValues;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/** A table of a real PostgreSQL: its descriptor, its tuples' bytes, its own text. */
final class SourceTable {
    private final Connection connection;
    private final String name;
    private final RelationDescriptor shape;

    SourceTable(Connection connection, String name) throws SQLException {
        this.connection = connection;
        this.name = name;
        long oid =
                Long.parseLong(text(connection, "select '" + literal(name) + "'::regclass::oid"));
        this.shape =
                new CatalogReader()
                        .read(connection, new int[] {(int) oid}).stream()
                                .filter(relation -> relation.oid() == (int) oid)
                                .findFirst()
                                .orElseThrow();
    }

    /** A session that gets every value as PostgreSQL's output functions print it. */
    static Connection connect(EmbeddedPostgres server, String database) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("preferQueryMode", "simple");
        return DriverManager.getConnection(server.jdbcUrl(database), properties);
    }

    static void execute(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    static String text(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    private static String literal(String name) {
        return name.replace("'", "''");
    }

    RelationDescriptor shape() {
        return shape;
    }

    /** Takes tuples that stand in the table. */
    interface TupleConsumer {
        void tuple(TupleView tuple);
    }

    /**
     * Every live tuple in page order (nothing may have been updated since the last VACUUM FULL).
     *
     * @param walShape as an INSERT record carries it, else as the page has it
     */
    void tuples(boolean walShape, TupleConsumer consumer) throws SQLException {
        long blocks =
                Long.parseLong(
                        text(
                                connection,
                                "select pg_relation_size('" + literal(name) + "') / 8192"));
        TupleView tuple = new TupleView();
        HeapPage page = new HeapPage();
        for (long block = 0; block < blocks; block++) {
            byte[] bytes = page(block);
            page.wrap(bytes, 0);
            for (int i = page.nextNormal(0); i != 0; i = page.nextNormal(i)) {
                page.tuple(i, tuple);
                if (walShape) {
                    byte[] wal = walBytes(tuple);
                    tuple.wrapWal(wal, 0, wal.length);
                }
                consumer.tuple(tuple);
            }
        }
    }

    /** The stored bytes of one column, detoasted; NULLs are left out. */
    List<byte[]> payloads(int attributeNumber) throws SQLException {
        List<AttributeDescriptor> attributes = shape.attributes();
        int[] lengths = attributes.stream().mapToInt(AttributeDescriptor::length).toArray();
        char[] alignments = new char[lengths.length];
        for (int i = 0; i < lengths.length; i++) {
            alignments[i] = attributes.get(i).alignment();
        }
        AttributeWalker walker = new AttributeWalker(TupleLayout.of(lengths, alignments));
        int index = attributeNumber - 1;
        List<byte[]> payloads = new ArrayList<>();
        tuples(
                false,
                tuple -> {
                    walker.walk(tuple);
                    int at = walker.offset(index);
                    if (at >= 0) {
                        payloads.add(
                                payload(
                                        tuple.buffer(),
                                        at,
                                        walker.length(index),
                                        lengths[index] == -1));
                    }
                });
        return payloads;
    }

    private byte[] payload(byte[] bytes, int at, int length, boolean varlena) {
        ByteBuilder out = new ByteBuilder(length);
        if (!varlena) {
            out.putBytes(bytes, at, length);
        } else if (Varlena.isExternal(bytes, at)) {
            ToastPointer pointer = new ToastPointer().wrap(bytes, at);
            ByteBuilder stored = new ByteBuilder(pointer.storedSize());
            chunks().append(pointer.toastRelationOid(), pointer.valueId(), stored);
            Detoaster.appendExternal(pointer, stored.array(), 0, stored.length(), out);
        } else {
            Detoaster.appendInline(bytes, at, length, out);
        }
        return out.toByteArray();
    }

    private byte[] page(long block) throws SQLException {
        try (PreparedStatement statement =
                connection.prepareStatement("select get_raw_page(?, ?::int)")) {
            statement.setString(1, name);
            statement.setLong(2, block);
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                return row.getBytes(1);
            }
        }
    }

    /** xl_heap_header, then everything from the null bitmap on. */
    private static byte[] walBytes(TupleView tuple) {
        ByteBuilder out = new ByteBuilder(256);
        out.putShort(tuple.infomask2());
        out.putShort(tuple.infomask());
        out.putByte(tuple.headerLength());
        int bitmap = tuple.headerOffset() + 23;
        out.putBytes(tuple.buffer(), bitmap, tuple.end() - bitmap);
        return out.toByteArray();
    }

    /** Rows of a query as PostgreSQL prints them. */
    List<@Nullable String[]> rows(String sql) throws SQLException {
        List<@Nullable String[]> rows = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            int columns = row.getMetaData().getColumnCount();
            while (row.next()) {
                @Nullable String[] texts = new @Nullable String[columns];
                for (int i = 0; i < columns; i++) {
                    texts[i] = row.getString(i + 1);
                }
                rows.add(texts);
            }
        }
        return rows;
    }

    /** Assembles chunks by SQL from the TOAST table. */
    ToastValues chunks() {
        return (relation, value, out) -> {
            String toast = "pg_toast.pg_toast_" + Integer.toUnsignedString(shape.oid());
            int before = out.length();
            try (Statement statement = connection.createStatement();
                    ResultSet row =
                            statement.executeQuery(
                                    "select chunk_data from "
                                            + toast
                                            + " where chunk_id = "
                                            + Integer.toUnsignedString(value)
                                            + " order by chunk_seq")) {
                while (row.next()) {
                    out.putBytes(row.getBytes(1));
                }
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
            return out.length() > before;
        };
    }

    /** No chunk is known. */
    static ToastValues noChunks() {
        return (relation, value, out) -> false;
    }
}
