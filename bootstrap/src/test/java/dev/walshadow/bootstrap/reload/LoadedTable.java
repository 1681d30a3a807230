package dev.walshadow.bootstrap.reload;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.bootstrap.reload.TableLoad.Outcome;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.pipeline.SourceSnapshot;
import dev.walshadow.pipeline.encode.RowEncoder;
import dev.walshadow.pipeline.encode.RowMeta;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.encode.TableBlock;
import dev.walshadow.pipeline.encode.ValueLimit;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.heap.HeapPage;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.RecordCursor;
import dev.walshadow.transaction.ToastValues;
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
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** A table of a real server, loaded by COPY and read from its heap pages. */
final class LoadedTable implements TableLoad.Rows {
    static final long POSITION = 0x5000;

    /** Content with any. */
    static final TableLoad.Changes ANY_SNAPSHOT = changes(_ -> POSITION);

    private final RelationDescriptor shape;
    private final TableMapping mapping;
    private final SourceEncoding encoding;
    private final RowEncoder encoder;
    private final TableBlock block;
    private final List<Long> tids = new ArrayList<>();
    private int chunks;
    private long micros;

    LoadedTable(RelationDescriptor shape, TableMapping mapping, SourceEncoding encoding) {
        this.shape = shape;
        this.mapping = mapping;
        this.encoding = encoding;
        LoadShape load = LoadShape.of(shape, mapping);
        this.encoder = RowEncoder.compile(load.virtual(), load.mapping(), encoding);
        this.block = encoder.newBlock();
    }

    /** Asks of each snapshot what position it gives. */
    static TableLoad.Changes changes(ToLongFunction<SourceSnapshot> position) {
        return new TableLoad.Changes() {
            @Override
            public void keep() {}

            @Override
            public long use(SourceSnapshot snapshot) {
                return position.applyAsLong(snapshot);
            }

            @Override
            public void forget() {}
        };
    }

    static LoadedTable of(Connection session, String regclass) throws SQLException {
        RelationDescriptor shape = shape(session, regclass);
        return new LoadedTable(shape, mapping(shape), SourceEncoding.UTF8);
    }

    static RelationDescriptor shape(Connection session, String regclass) throws SQLException {
        int oid =
                (int)
                        Long.parseLong(
                                ask(
                                        session,
                                        "SELECT '"
                                                + regclass.replace("'", "''")
                                                + "'::regclass::oid"));
        return new CatalogReader()
                .read(session, new int[] {oid}).stream()
                        .filter(each -> each.oid() == oid)
                        .findFirst()
                        .orElseThrow();
    }

    static TableMapping mapping(RelationDescriptor shape) {
        Derivation derivation = TableMapping.derive(shape, MappingRules.defaults());
        assertThat(derivation).isInstanceOf(Derivation.Mapped.class);
        return ((Derivation.Mapped) derivation).mapping();
    }

    static void run(Connection session, String... statements) throws SQLException {
        try (Statement statement = session.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    static @Nullable String ask(Connection session, String sql) throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    /** Loads with a check that is content with any snapshot. */
    Outcome load(TableLoad.Sessions sessions) throws Exception {
        return load(sessions, TableLoad.Options.defaults(ValueLimit.NONE));
    }

    Outcome load(TableLoad.Sessions sessions, TableLoad.Options options) throws Exception {
        return load(new TableLoad(sessions, options), TableLoad.Progress.NONE);
    }

    Outcome load(TableLoad load, TableLoad.Progress progress) throws Exception {
        return load.run(shape, mapping, ANY_SNAPSHOT, this, progress);
    }

    @Override
    public long submit(CommittedChanges rows) {
        assertThat(rows.xid()).isZero();
        assertThat(rows.commitPosition()).isEqualTo(POSITION);
        micros = rows.commitMicros();
        RowMeta meta = new RowMeta().transaction(rows.commitPosition(), micros, rows.xid());
        RecordCursor cursor = rows.records();
        RawRecord record = new RawRecord();
        TupleView tuple = new TupleView();
        long count = 0;
        while (cursor.next(record)) {
            count++;
            assertThat(record.isBaseline()).isTrue();
            long tid = (record.block0() & 0xFFFF_FFFFL) << 16 | offsetNumber(record);
            tids.add(tid);
            tuple.wrapWal(record.buffer(), record.dataOffset(), record.dataLength());
            int done =
                    encoder.appendRow(block, tuple, meta.record(record.lsn(), tid), rows.toast());
            assertThat(done).isEqualTo(RowEncoder.OK);
        }
        assertThat(count).isEqualTo(rows.recordCount());
        rows.close();
        return ++chunks;
    }

    private static int offsetNumber(RawRecord record) {
        int at = record.mainOffset();
        return (record.buffer()[at + 1] & 0xFF) << 8 | (record.buffer()[at] & 0xFF);
    }

    int chunks() {
        return chunks;
    }

    List<Long> tids() {
        return tids;
    }

    TableBlock block() {
        return block;
    }

    int rows() {
        return block.nativeBlock().rows();
    }

    /** The block as ClickHouse gets it. */
    byte[] loadedBytes() throws IOException {
        return bytes(block);
    }

    /** The same from the heap pages, nothing of which may be dead. */
    byte[] pageBytes(Connection session) throws SQLException, IOException {
        RowEncoder pages = RowEncoder.compile(shape, mapping, encoding);
        TableBlock fromPages = pages.newBlock();
        RowMeta meta = new RowMeta().transaction(POSITION, micros, 0);
        TupleView tuple = new TupleView();
        HeapPage page = new HeapPage();
        String name = ask(session, "SELECT " + oid() + "::regclass");
        long blocks = Long.parseLong(ask(session, "SELECT pg_relation_size(" + oid() + ") / 8192"));
        int next = 0;
        for (long number = 0; number < blocks; number++) {
            page.wrap(rawPage(session, name, number), 0);
            for (int at = page.nextNormal(0); at != 0; at = page.nextNormal(at)) {
                page.tuple(at, tuple);
                long tid = number << 16 | at;
                assertThat(tids.get(next++)).isEqualTo(tid);
                pages.appendRow(fromPages, tuple, meta.record(0, tid), chunksOf(session));
            }
        }
        return bytes(fromPages);
    }

    private String oid() {
        return Integer.toUnsignedString(shape.oid());
    }

    private static byte[] bytes(TableBlock block) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        block.nativeBlock().writeTo(out);
        return out.toByteArray();
    }

    private static byte[] rawPage(Connection session, @Nullable String name, long block)
            throws SQLException {
        try (PreparedStatement statement =
                session.prepareStatement("SELECT get_raw_page(?, ?::int)")) {
            statement.setString(1, name);
            statement.setLong(2, block);
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                return row.getBytes(1);
            }
        }
    }

    private ToastValues chunksOf(Connection session) {
        return (relation, value, out) -> {
            try (Statement statement = session.createStatement();
                    ResultSet row =
                            statement.executeQuery(
                                    "SELECT chunk_data FROM pg_toast.pg_toast_"
                                            + oid()
                                            + " WHERE chunk_id = "
                                            + Integer.toUnsignedString(value)
                                            + " ORDER BY chunk_seq")) {
                while (row.next()) {
                    out.putBytes(row.getBytes(1));
                }
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
            return true;
        };
    }

    /** A column's values in RowBinary form. */
    byte[] valueBytes(String column) {
        int index = block.nativeBlock().names().indexOf(column);
        ColumnBuffer buffer = block.nativeBlock().column(index);
        ByteBuilder out = new ByteBuilder(64);
        for (int row = 0; row < buffer.rows(); row++) {
            buffer.rowBinary(row, out);
        }
        return out.toByteArray();
    }

    /** A String column's values, null for NULL; rows in the order of the load. */
    List<@Nullable String> strings(String column) {
        int index = block.nativeBlock().names().indexOf(column);
        ColumnBuffer buffer = block.nativeBlock().column(index);
        boolean nullable = block.nativeBlock().types().get(index).print().startsWith("Nullable");
        List<@Nullable String> values = new ArrayList<>();
        for (int row = 0; row < buffer.rows(); row++) {
            ByteBuilder out = new ByteBuilder(64);
            buffer.rowBinary(row, out);
            byte[] bytes = out.toByteArray();
            int at = 0;
            if (nullable && bytes[at++] == 1) {
                values.add(null);
                continue;
            }
            while (bytes[at++] < 0) {
                // a varint of more than one byte
            }
            values.add(new String(bytes, at, bytes.length - at, StandardCharsets.UTF_8));
        }
        return values;
    }
}
