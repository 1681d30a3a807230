package dev.walshadow.source;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.postgres.wal.WalRecord;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A running server whose WAL is read from its files, statement by statement. */
final class LiveWal implements AutoCloseable {
    /** A boundary, kept beyond the call that handed it over. */
    record Boundary(
            int xid,
            long commitLsn,
            long nextLsn,
            int databaseOid,
            long catalogs,
            List<Integer> relations,
            boolean allRelations,
            boolean allTypes,
            boolean allNames,
            boolean onlyTemporary,
            boolean onlyInPlace,
            List<Integer> unknownIndexes) {}

    private final Path root = UnprivilegedUser.temporaryDirectory("walshadow-live-wal-");
    private final EmbeddedPostgres server;
    private final List<Boundary> boundaries = new ArrayList<>();
    private final List<String> decisions = new ArrayList<>();
    private final WalStream stream;

    LiveWal(int majorVersion) throws IOException, SQLException {
        server =
                EmbeddedPostgres.at(root.resolve("source"))
                        .version(majorVersion)
                        .initdbOption("--wal-segsize=1")
                        .setting("autovacuum", "off")
                        .setting("fsync", "off")
                        .setting("wal_keep_size", "1GB")
                        .start();
        execute("checkpoint");
        long redo = Lsn.parse(value("select redo_lsn from pg_control_checkpoint()"));
        byte[] control = Files.readAllBytes(server.dataDirectory().resolve("global/pg_control"));
        WalPages pages =
                new WalPages(
                        majorVersion, LittleEndian.getLong(control, 0), 1, RealWal.SEGMENT_SIZE);
        StreamSnapshot start = StreamSnapshot.initial(pages, redo, List.of());
        stream =
                new WalStream(
                        start,
                        redo,
                        (lsn, bytes, offset, length) -> {},
                        this::onRecord,
                        (lsn, segment, length, next) -> {});
    }

    private void onRecord(WalRecord record, Decision decision, @Nullable CatalogBoundary boundary) {
        decisions.add(record.resourceManager() + ":" + decision);
        if (boundary == null) {
            return;
        }
        List<Integer> relations = new ArrayList<>();
        List<Integer> unknownIndexes = new ArrayList<>();
        for (int i = 0; i < boundary.relationCount(); i++) {
            relations.add(boundary.relation(i));
            if (boundary.updatesIndexes() && boundary.tableOf(i) == 0) {
                unknownIndexes.add(boundary.relation(i));
            }
        }
        boundaries.add(
                new Boundary(
                        boundary.xid(),
                        boundary.commitLsn(),
                        boundary.nextLsn(),
                        boundary.databaseOid(),
                        boundary.catalogs(),
                        relations,
                        boundary.allRelations(),
                        boundary.allTypes(),
                        boundary.allNames(),
                        boundary.mayBeTemporaryOnly(),
                        boundary.mayBeInPlaceOnly(),
                        unknownIndexes));
    }

    /** The boundaries that these statements, each its own transaction, made. */
    List<Boundary> boundariesOf(String... statements)
            throws SQLException, IOException, InterruptedException {
        execute(statements);
        readOn();
        List<Boundary> made = List.copyOf(boundaries);
        boundaries.clear();
        return made;
    }

    private void readOn() throws SQLException, IOException, InterruptedException {
        // a commit may return before its last page is written, but not before it is flushed
        long end = Lsn.parse(value("select pg_current_wal_flush_lsn()"));
        while (stream.nextLsn() < end) {
            long from = stream.nextLsn();
            int offset = (int) (from % RealWal.SEGMENT_SIZE);
            int count = (int) Math.min(end - from, RealWal.SEGMENT_SIZE - offset);
            byte[] segment =
                    Files.readAllBytes(
                            server.dataDirectory()
                                    .resolve("pg_wal")
                                    .resolve(Lsn.segmentFileName(1, from, RealWal.SEGMENT_SIZE)));
            stream.push(from, segment, offset, count);
        }
    }

    void execute(String... statements) throws SQLException {
        try (Connection connection = RealWal.connect(server, "postgres");
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    String value(String sql) throws SQLException {
        try (Connection connection = RealWal.connect(server, "postgres");
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getString(1);
        }
    }

    WalStream stream() {
        return stream;
    }

    int oid(String relation) throws SQLException {
        return (int) Long.parseLong(value("select '" + relation + "'::regclass::oid"));
    }

    @Override
    public void close() throws IOException {
        server.close();
        RealWal.execute("rm", "-rf", root.toString());
    }
}
