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
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

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

    private static final Pattern DIGITS = Pattern.compile("[0-9]+");

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
        int done = target.done(ShapeMarker.of(to), from, to);
        List<List<ColumnStep>> statements = ColumnSteps.between(from, to).statements();
        if (done > 0 && changesParts(statements.get(Math.min(done, statements.size()) - 1))) {
            target.requireCarriedOut(to);
        }
        target.alter(statements, done, to, after);
        target.verify(to);
    }

    /**
     * The same where nothing of it has been begun: neither how far it has come is asked, nor what
     * has become of the table. ClickHouse refuses what does not fit it.
     */
    public static void inPlaceFromTheStart(
            ClickHouseClient client,
            String database,
            String table,
            TableMapping from,
            TableMapping to,
            RelationDescriptor after) {
        Target target = new Target(client, database, table);
        target.alter(ColumnSteps.between(from, to).statements(), 0, to, after);
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
            RelationDescriptor after) {
        Scratch scratch = new Scratch(scratchDatabase, scratchTable, false);
        exchange(client, database, table, scratch, from, to, after);
    }

    /**
     * By copying the visible rows into a table beside it, which has another key, and exchanging the
     * two, as {@link ShapeChange.Rekeyed} says. Versions are kept.
     *
     * @param scratchDatabase where {@code scratchTable} may be dropped and created at will
     */
    public static void rekeyed(
            ClickHouseClient client,
            String database,
            String table,
            String scratchDatabase,
            String scratchTable,
            TableMapping from,
            TableMapping to,
            RelationDescriptor after) {
        Scratch scratch = new Scratch(scratchDatabase, scratchTable, true);
        exchange(client, database, table, scratch, from, to, after);
    }

    /**
     * @param visibleOnly without tombstones and rows that are superseded
     */
    private record Scratch(String database, String table, boolean visibleOnly) {}

    private static void exchange(
            ClickHouseClient client,
            String database,
            String table,
            Scratch beside,
            TableMapping from,
            TableMapping to,
            RelationDescriptor after) {
        Target target = new Target(client, database, table);
        ShapeMarker marker = ShapeMarker.of(to);
        String dropScratch = Ddl.dropTable(beside.database(), beside.table());
        if (target.done(marker, from, to) == 0) {
            client.execute(dropScratch);
            client.execute(to.toDdl(beside.database(), beside.table()));
            String source = Ddl.qualified(database, table);
            String scratch = Ddl.qualified(beside.database(), beside.table());
            String visible =
                    beside.visibleOnly()
                            ? " FINAL WHERE " + Ddl.identifier(from.meta().isDeleted()) + " = 0"
                            : "";
            client.execute(copy(source, scratch, from, to, after) + visible, COPYING);
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
        from.meta().stored().stream()
                .filter(name -> !name.equals(from.meta().tid()) || to.isKeyless())
                .forEach(name -> expressions.add(Ddl.identifier(name)));
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

    /**
     * Parts with other types are read as if they had been changed; with other names they are not.
     */
    private static boolean changesParts(List<ColumnStep> statement) {
        return statement.stream()
                .anyMatch(step ->
                        switch (step) {
                            case ColumnStep.Drop _, ColumnStep.Rename _ -> true;
                            case ColumnStep.Modify _, ColumnStep.Add _ -> false;
                        });
    }

    /** The table that is altered. */
    private record Target(ClickHouseClient client, String database, String table) {

        /**
         * @param done how many of the statements are
         */
        void alter(
                List<List<ColumnStep>> statements,
                int done,
                TableMapping to,
                RelationDescriptor after) {
            ShapeMarker marker = ShapeMarker.of(to);
            for (int i = done; i < statements.size(); i++) {
                String comment = marker.text(i + 1, statements.size());
                if (changesParts(statements.get(i))) {
                    comment += " after " + newestMutation();
                }
                client.execute(
                        AlterText.of(
                                Ddl.qualified(database, table),
                                statements.get(i),
                                after,
                                AlterText.mark(to, comment)),
                        SYNCHRONOUS);
            }
        }

        /** How many statements of this change an earlier run has finished. */
        int done(ShapeMarker marker, TableMapping from, TableMapping to) {
            TableShape there = shape();
            int finished = marker.finished(versionComment(there, to));
            if (finished > 0) {
                return finished;
            }
            // the comment may have been lost or changed; the columns speak where they can
            boolean conforms = to.differences(there).isEmpty();
            return conforms && !has(there, from) ? Integer.MAX_VALUE : 0;
        }

        private static String versionComment(TableShape there, TableMapping to) {
            return there.columns().stream()
                    .filter(column -> column.name().equals(to.meta().version()))
                    .map(TableShape.Column::comment)
                    .findFirst()
                    .orElse("");
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

        /**
         * An interrupted ALTER TABLE has changed the table's columns, but perhaps not begun to
         * change its parts: ClickHouse writes the one and then the other ({@code
         * StorageMergeTree::alter}), and forgets the second if it is killed in between. Then a
         * renamed column would be empty, and a dropped one come back under its name; a merge makes
         * that final. So the mutation must be there.
         *
         * @throws QuarantineException if it is not, or nothing tells
         */
        void requireCarriedOut(TableMapping to) {
            long before = ShapeMarker.mutationBefore(versionComment(shape(), to));
            if (before < 0 || newestMutation() <= before) {
                throw new QuarantineException(
                        DdlCodes.ALTERATION,
                        "the target table "
                                + database
                                + "."
                                + table
                                + " was being altered when ClickHouse ended, and its parts were"
                                + " not changed; load the table anew");
            }
            String failure = failureOfItsOwn();
            if (failure != null) {
                throw new QuarantineException(
                        DdlCodes.ALTERATION,
                        "ClickHouse cannot change the parts of the target table "
                                + database
                                + "."
                                + table
                                + ": "
                                + failure
                                + "; load the table anew");
            }
            // waits for it
            client.execute(
                    "ALTER TABLE " + Ddl.qualified(database, table) + " DELETE WHERE 0",
                    SYNCHRONOUS);
        }

        /** A defect that comes again however often it is tried; null: there is none. */
        private @Nullable String failureOfItsOwn() {
            return client.queryValue(
                    "SELECT latest_fail_reason FROM system.mutations WHERE NOT is_done AND"
                            + " latest_fail_reason LIKE '%LOGICAL_ERROR%' AND database = "
                            + Ddl.literal(database)
                            + " AND table = "
                            + Ddl.literal(table)
                            + " LIMIT 1");
        }

        /**
         * The number of the newest change of parts; 0 if there was none. ClickHouse lists some
         * hundred of a table and needs less time for that than for finding the greatest.
         */
        long newestMutation() {
            return client
                    .query(
                            "SELECT mutation_id FROM system.mutations WHERE database = "
                                    + Ddl.literal(database)
                                    + " AND table = "
                                    + Ddl.literal(table))
                    .stream()
                    .mapToLong(row -> mutationNumber(String.valueOf(row[0])))
                    .max()
                    .orElse(0);
        }

        /** {@code mutation_12.txt} of a table by itself, {@code 0000000012} of a replicated one. */
        private static long mutationNumber(String id) {
            Matcher digits = DIGITS.matcher(id);
            return digits.find() ? Long.parseLong(digits.group()) : 0;
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
