package dev.walshadow.pipeline.ddl;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.pipeline.mapping.TableShape;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Makes a table conform to the new mapping, whatever of it an earlier, killed run has done.
 *
 * <p>How far that run came is read from the comment of the version column, which every statement
 * here sets together with what it does ({@link ShapeMarker}): columns alone cannot tell, e.g. after
 * the names of two columns were exchanged. Every failure is the client's, or a {@link
 * QuarantineException} that names the difference; repeating the call is always safe.
 */
public final class TableAlteration {
    /** Wait for the rewriting of parts; on replicated tables only for our own replica. */
    private static final Map<String, String> SYNCHRONOUS =
            Map.of("alter_sync", "1", "mutations_sync", "1");

    /**
     * A copy of any size in bounded memory: few threads, small blocks, parts written at 64 MB. The
     * progress headers keep the connection from looking dead.
     */
    private static final Map<String, String> COPYING =
            Map.of(
                    "max_threads", "2",
                    "max_insert_threads", "1",
                    "max_block_size", "8192",
                    "min_insert_block_size_rows", "1048576",
                    "min_insert_block_size_bytes", "67108864",
                    "optimize_on_insert", "0",
                    "insert_deduplicate", "0",
                    "optimize_move_to_prewhere", "0",
                    "send_progress_in_http_headers", "1",
                    "http_headers_progress_interval_ms", "30000");

    private TableAlteration() {}

    /**
     * By ALTER TABLE, as {@link ShapeChange.InPlace} says.
     *
     * @param database physical, as {@code table}: the mappings' own names are not used
     * @param encoding of the source; values of older rows are known as text and do not depend on it
     */
    public static void inPlace(
            ClickHouseClient client,
            String database,
            String table,
            TableMapping from,
            TableMapping to,
            RelationDescriptor after,
            SourceEncoding encoding) {
        Target target = new Target(client, database, table);
        ShapeMarker marker = ShapeMarker.of(to);
        int done = target.done(marker, from, to);
        List<List<ColumnStep>> statements = ColumnSteps.between(from, to).statements();
        for (int i = done; i < statements.size(); i++) {
            String comment = marker.text(i + 1, statements.size());
            client.execute(
                    AlterText.of(
                            Ddl.qualified(database, table),
                            statements.get(i),
                            after,
                            AlterText.mark(to, comment)),
                    SYNCHRONOUS);
        }
        target.verify(to);
    }

    /**
     * By copying the rows into a table beside it and exchanging the two, as {@link
     * ShapeChange.Beside} says. Tombstones and versions are kept; the key is the same.
     *
     * @param scratchDatabase where {@code scratchTable} may be dropped and created at will
     */
    public static void beside(
            ClickHouseClient client,
            String database,
            String table,
            String scratchDatabase,
            String scratchTable,
            TableMapping from,
            TableMapping to,
            RelationDescriptor after,
            SourceEncoding encoding) {
        Target target = new Target(client, database, table);
        ShapeMarker marker = ShapeMarker.of(to);
        String dropScratch = Ddl.dropTable(scratchDatabase, scratchTable);
        if (target.done(marker, from, to) == 0) {
            client.execute(dropScratch);
            client.execute(to.toDdl(scratchDatabase, scratchTable));
            String source = Ddl.qualified(database, table);
            String scratch = Ddl.qualified(scratchDatabase, scratchTable);
            client.execute(copy(source, scratch, from, to, after), COPYING);
            // it takes the table's place with the table's own comment
            client.execute(
                    "ALTER TABLE "
                            + scratch
                            + " "
                            + AlterText.mark(to, marker.text(1, 1))
                            + ", MODIFY COMMENT "
                            + Ddl.literal(target.comment()));
            client.execute("EXCHANGE TABLES " + source + " AND " + scratch);
        }
        target.verify(to);
        client.execute(dropScratch);
    }

    private static String copy(
            String source,
            String scratch,
            TableMapping from,
            TableMapping to,
            RelationDescriptor after) {
        Map<Integer, ColumnMapping> old = new HashMap<>();
        from.columns().forEach(column -> old.put(column.attributeNumber(), column));
        List<String> expressions = new ArrayList<>();
        for (ColumnMapping column : to.columns()) {
            ColumnMapping before = old.get(column.attributeNumber());
            expressions.add(
                    before == null
                            ? AlterText.missing(column, after)
                            : AlterText.copied(before, column));
        }
        from.meta().stored().forEach(name -> expressions.add(Ddl.identifier(name)));
        List<String> names = to.blockNames().stream().map(Ddl::identifier).toList();
        return "INSERT INTO "
                + scratch
                + " ("
                + String.join(", ", names)
                + ") SELECT "
                + String.join(", ", expressions)
                + " FROM "
                + source;
    }

    /** The table that is altered. */
    private record Target(ClickHouseClient client, String database, String table) {

        /** How many statements of this change an earlier run has finished. */
        int done(ShapeMarker marker, TableMapping from, TableMapping to) {
            TableShape there = shape();
            int finished = marker.finished(versionComment(to));
            if (finished > 0) {
                return finished;
            }
            // the comment may have been lost or changed; the columns speak where they can
            boolean conforms = to.differences(there).isEmpty();
            return conforms && !has(there, from) ? Integer.MAX_VALUE : 0;
        }

        private String versionComment(TableMapping to) {
            String comment =
                    client.queryValue(
                            "SELECT comment FROM system.columns WHERE database = "
                                    + Ddl.literal(database)
                                    + " AND table = "
                                    + Ddl.literal(table)
                                    + " AND name = "
                                    + Ddl.literal(to.meta().version()));
            return comment == null ? "" : comment;
        }

        String comment() {
            String comment =
                    client.queryValue(
                            "SELECT comment FROM system.tables WHERE database = "
                                    + Ddl.literal(database)
                                    + " AND name = "
                                    + Ddl.literal(table));
            return comment == null ? "" : comment;
        }

        private static boolean has(TableShape there, TableMapping mapping) {
            Set<String> names = new HashSet<>();
            there.columns().forEach(column -> names.add(column.name()));
            return names.containsAll(mapping.blockNames()) && mapping.differences(there).isEmpty();
        }

        private TableShape shape() {
            TableShape there = TableShape.read(client, database, table);
            if (there == null) {
                throw new QuarantineException(
                        DdlCodes.ALTERATION,
                        "the target table "
                                + database
                                + "."
                                + table
                                + " is gone, so it cannot be altered; load the table anew");
            }
            return there;
        }

        void verify(TableMapping to) {
            List<String> differences = to.differences(shape());
            if (!differences.isEmpty()) {
                throw new QuarantineException(
                        DdlCodes.ALTERATION,
                        "the target table "
                                + database
                                + "."
                                + table
                                + " has not the shape that "
                                + to.source()
                                + " has now: "
                                + String.join("; ", differences)
                                + "; load the table anew");
            }
        }
    }
}
