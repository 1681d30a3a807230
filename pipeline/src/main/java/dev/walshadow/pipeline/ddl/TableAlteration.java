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
import java.util.Objects;
import java.util.Set;
import java.util.function.BiFunction;
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
        List<List<ColumnStep>> statements = ColumnSteps.between(from, to).statements();
        int done = target.done(ShapeMarker.of(to), from, to);
        if (done > 0
                && (changesParts(statements.get(Math.min(done, statements.size()) - 1))
                        || target.hasChangedParts(to))) {
            target.requireCarriedOut(to);
        }
        if (done > 0 && done < statements.size()) {
            target.requireSameStatements(statements.size(), to);
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
        Scratch scratch = new Scratch(scratchDatabase, scratchTable, null);
        exchange(client, database, table, scratch, from, to, after);
    }

    /**
     * By copying the visible rows into a table beside it, which has another key, and exchanging the
     * two, as {@link ShapeChange.Rekeyed} says. Versions are kept. What the table was lies in the
     * scratch table then.
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
            RelationDescriptor after,
            Comments comments) {
        Scratch scratch = new Scratch(scratchDatabase, scratchTable, comments);
        exchange(client, database, table, scratch, from, to, after);
    }

    /**
     * @param own the table's
     * @param markOld says of the one that is there what becomes of it
     */
    public record Comments(String own, Runnable markOld) {}

    /**
     * @param rekeyed without tombstones and rows that are superseded; null: with them, and dropped
     */
    private record Scratch(String database, String table, @Nullable Comments rekeyed) {}

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
            Comments rekeyed = beside.rekeyed();
            String rows = rekeyed == null ? source : visible(source, from);
            client.execute(copy(rows, scratch, from, to, after, AlterText::copied), COPYING);
            // it takes the table's place with the table's own comment
            client.execute(
                    "ALTER TABLE "
                            + scratch
                            + " "
                            + AlterText.mark(to, marker.text(1, 1))
                            + ", MODIFY COMMENT "
                            + Ddl.literal(rekeyed == null ? target.comment() : rekeyed.own()));
            if (rekeyed != null) {
                rekeyed.markOld().run();
            }
            client.execute("EXCHANGE TABLES " + source + " AND " + scratch);
        }
        target.verify(to);
        if (beside.rekeyed() == null) {
            client.execute(dropScratch);
        }
    }

    private static String visible(String source, TableMapping from) {
        String rows = from.append() ? from.newestVersions(source, "") : source + " FINAL";
        return rows + " WHERE " + Ddl.identifier(from.meta().isDeleted()) + " = 0";
    }

    /**
     * Puts versions of before beside the rows of a table that is to take their table's place.
     *
     * @param there the table that has them
     * @param from its mapping, as far as that is known; else they are carried only if the table has
     *     the new shape already
     * @param limit only versions below this one
     * @return false if they do not fit: nothing was done
     */
    public static boolean carry(
            ClickHouseClient client,
            TableShape there,
            String complete,
            @Nullable TableMapping from,
            TableMapping to,
            RelationDescriptor after,
            String limit) {
        TableMapping known = from != null && hasShape(from, there) ? from : to;
        boolean fits = hasShape(known, there) && fits(known, to);
        if (fits) {
            client.execute(
                    copy(
                                    Ddl.qualified(there.database(), there.table()),
                                    complete,
                                    known,
                                    to,
                                    after,
                                    (before, column) ->
                                            String.valueOf(ColumnCopy.past(before, column)))
                            + " WHERE "
                            + Ddl.identifier(known.meta().version())
                            + " < toUInt128("
                            + Ddl.literal(limit)
                            + ")",
                    COPYING);
        }
        return fits;
    }

    /** Whether the table has this shape, by attribute numbers, and is not on its way to another. */
    public static boolean hasShape(TableMapping mapping, TableShape there) {
        return mapping.differences(there).isEmpty()
                && ShapeMarker.of(mapping).isComplete(Target.versionComment(there, mapping));
    }

    /** Whether every version of before can be told in the new shape. */
    private static boolean fits(TableMapping from, TableMapping to) {
        Map<Integer, ColumnMapping> old = new HashMap<>();
        from.columns().forEach(column -> old.put(column.attributeNumber(), column));
        return from.append()
                && from.key().equals(to.key())
                && Objects.equals(from.filter(), to.filter())
                && to.columns().stream()
                        .allMatch(column -> {
                            ColumnMapping before = old.get(column.attributeNumber());
                            return before == null || ColumnCopy.past(before, column) != null;
                        });
    }

    private static String copy(
            String source,
            String scratch,
            TableMapping from,
            TableMapping to,
            RelationDescriptor after,
            BiFunction<ColumnMapping, ColumnMapping, String> copied) {
        Map<Integer, ColumnMapping> old = new HashMap<>();
        from.columns().forEach(column -> old.put(column.attributeNumber(), column));
        List<String> expressions = new ArrayList<>();
        for (ColumnMapping column : to.columns()) {
            ColumnMapping before = old.get(column.attributeNumber());
            expressions.add(
                    before == null
                            ? AlterText.missing(column, after)
                            : copied.apply(before, column));
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

        /** By what the last statement noted. */
        boolean hasChangedParts(TableMapping to) {
            return ShapeMarker.mutationBefore(versionComment(shape(), to)) >= 0;
        }

        /** An earlier version of walshadow divided alterations otherwise. */
        void requireSameStatements(int count, TableMapping to) {
            if (ShapeMarker.count(versionComment(shape(), to)) != count) {
                throw new QuarantineException(
                        DdlCodes.ALTERATION,
                        "the target table "
                                + database
                                + "."
                                + table
                                + " was being altered by another version of walshadow when that"
                                + " ended; load the table anew");
            }
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
