package dev.walshadow.systemtests.values;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Conditions on every type that they may ask for, evaluated here and, by {@code verify}, by
 * PostgreSQL: in the initial load, the stream and a load by COPY.
 */
final class RowFilterReplicationTest {
    /**
     * A table for each; with the values below every condition is true, false and NULL somewhere.
     */
    private static final List<String> CONDITIONS =
            List.of(
                    "n > 3 and n <= 8",
                    "not (s = 5 or l < 3)",
                    "flag",
                    "not flag or flag is null",
                    "o >= 2147483649",
                    "f4 > 2.5 or f4 = 'NaN'",
                    "f8 in (0, 4.5) or f8 = 'Infinity'",
                    "amount > 10.005 or amount = 'NaN'",
                    "price <> 3.50",
                    "status <> 'draft'",
                    "status in ('draft', 'ü') and n is not null",
                    "code = 'ab'",
                    "nm not in ('name1', 'name2')",
                    "u = '00000000-0000-0000-0000-000000000004'",
                    "day >= '2020-01-05' and day < 'infinity'",
                    "at > '2020-01-04 12:00:00'",
                    "atz <= '2020-01-04 12:00:00+05:30' or atz is null",
                    "kind = 'big' or kind is null",
                    "late = 7",
                    "body is not null and n > 2");

    private static String name(int i) {
        return "f" + i;
    }

    private static String create(int i) {
        return "CREATE TABLE "
                + name(i)
                + " (id int PRIMARY KEY, n int, s int2, l int8, flag bool, o oid, f4 float4, f8"
                + " float8, amount numeric, price numeric(9,2), status text, code char(4), nm"
                + " name, u uuid, day date, at timestamp, atz timestamptz, kind size, body text)";
    }

    private static String insert(int table, int from, int to) {
        return "INSERT INTO "
                + name(table)
                + " SELECT i, v, v, v, v % 2 = 0, 2147483640 + v * 3::int8, v / 2.0,"
                + " CASE v WHEN 6 THEN 'Infinity' ELSE v * 0.5 END::float8,"
                + " CASE v WHEN 7 THEN 'NaN' ELSE v * 2.001 END::numeric, v * 0.5,"
                + " (ARRAY['draft', 'done', 'ü'])[1 + v % 3], (ARRAY['ab', 'abc', ''])[1 + v % 3],"
                + " 'name' || v % 3, lpad(v::text, 32, '0')::uuid,"
                + " CASE v WHEN 9 THEN 'infinity'::date ELSE '2020-01-01'::date + v END,"
                + " '2020-01-01'::timestamp + v * interval '21 hours',"
                + " '2020-01-01 00:00+00'::timestamptz + v * interval '21 hours',"
                + " (ARRAY['small', 'big'])[1 + v % 2]::size, repeat('body' || i, 1000)"
                + " FROM (SELECT i, CASE WHEN i % 11 < 10 THEN i % 11 END AS v FROM"
                + " generate_series("
                + from
                + ", "
                + to
                + ") i) x";
    }

    @Test
    void onlyRowsThatPassArrive() throws Exception {
        try (Installation installation = Installation.start(18)) {
            installation.execute("CREATE TYPE size AS ENUM ('small', 'big')");
            StringBuilder rules = new StringBuilder();
            for (int i = 0; i < CONDITIONS.size(); i++) {
                installation.execute(
                        create(i),
                        "ALTER TABLE " + name(i) + " ALTER body SET STORAGE EXTERNAL",
                        "ALTER TABLE " + name(i) + " REPLICA IDENTITY FULL",
                        insert(i, 1, 20),
                        "ALTER TABLE " + name(i) + " ADD late int DEFAULT 7",
                        insert(i, 21, 40));
                rules.append("[tables.\"public.%s\"]\n".formatted(name(i)));
                rules.append("where = \"%s\"\n".formatted(CONDITIONS.get(i)));
            }
            installation.configure(rules.toString());
            installation.startDaemon();
            installation.awaitStreaming();
            equal(installation);
            for (int i = 0; i < CONDITIONS.size(); i++) {
                installation.execute(change(i));
            }
            equal(installation);
            installation.resyncAll(
                    IntStream.range(0, CONDITIONS.size())
                            .mapToObj(i -> "public." + name(i))
                            .toList());
            equal(installation);
        }
    }

    /** Rows move out and in, some with what they have toasted left alone, some to other keys. */
    private static String[] change(int i) {
        String copied =
                "n, s, l, flag, o, f4, f8, amount, price, status, code, nm, u, day, at, atz, kind";
        return new String[] {
            insert(i, 41, 80),
            "UPDATE %1$s t SET (%2$s) = (SELECT %2$s FROM %1$s o WHERE o.id = t.id + 1) WHERE id < 40"
                    .formatted(name(i), copied),
            "UPDATE %s SET id = id + 1000 WHERE id %% 7 = 0".formatted(name(i)),
            "UPDATE %s SET body = NULL, late = 8 WHERE id %% 5 = 0".formatted(name(i)),
            "DELETE FROM %s WHERE id %% 13 = 0".formatted(name(i)),
        };
    }

    /** A row leaves and comes back in one transaction, its toasted value once new, once old. */
    @Test
    void aRowThatLeavesAndComesBackIsWhole() throws Exception {
        try (Installation installation = Installation.start(17)) {
            installation.configure("[tables.\"public.doc\"]\nwhere = \"shown and lang <> 'xx'\"\n");
            installation.execute(
                    "CREATE TABLE doc (id int PRIMARY KEY, shown bool, lang text, body text)",
                    "ALTER TABLE doc ALTER body SET STORAGE EXTERNAL",
                    "ALTER TABLE doc REPLICA IDENTITY FULL",
                    "INSERT INTO doc SELECT i, i % 2 = 0, 'en', repeat('a' || i, 2000) FROM"
                            + " generate_series(1, 20) i");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute(
                    "BEGIN; UPDATE doc SET shown = true; UPDATE doc SET shown = false WHERE id % 3"
                        + " = 0; UPDATE doc SET body = repeat('b' || id, 2000) WHERE id % 6 = 0;"
                        + " UPDATE doc SET shown = true WHERE id % 3 = 0; COMMIT",
                    "UPDATE doc SET lang = 'xx' WHERE id = 4",
                    "ALTER TABLE doc RENAME lang TO language",
                    "INSERT INTO doc VALUES (21, true, 'xx', 'hidden'), (22, true, 'de', 'here')",
                    "ALTER TABLE doc RENAME TO document",
                    "INSERT INTO document VALUES (23, true, 'xx', 'hidden'), (24, true, 'de',"
                            + " 'x')");
            equal(installation);
            assertThat(
                            installation
                                    .target()
                                    .query(
                                            "SELECT count(), countIf(body = 'hidden'), countIf(body"
                                                    + " LIKE 'b%') FROM public.document FINAL"))
                    .isEqualTo("21\t0\t3\n");
        }
    }

    /**
     * Without a key, in partitions, and without TOAST: rows move between places, partitions and
     * keys, into the filter and out of it.
     */
    @Test
    void rowsOfEveryKindOfTableMoveInAndOut() throws Exception {
        try (Installation installation = Installation.start(16)) {
            installation.configure(
                    "[tables.\"public.place\"]\nwhere = \"n >= 10\"\n"
                            + "[tables.\"public.part\"]\nwhere = \"n >= 10 and id <> 7\"\n"
                            + "[tables.\"public.plain\"]\nwhere = \"n >= 10\"\n");
            installation.execute(
                    "CREATE TABLE place (n int, body text)",
                    "ALTER TABLE place ALTER body SET STORAGE EXTERNAL",
                    "ALTER TABLE place REPLICA IDENTITY FULL",
                    "CREATE TABLE part (id int, n int, body text, PRIMARY KEY (id, n)) PARTITION"
                            + " BY RANGE (n)",
                    "CREATE TABLE low (body text, n int NOT NULL, id int NOT NULL)",
                    "ALTER TABLE part ATTACH PARTITION low FOR VALUES FROM (-100) TO (12)",
                    "CREATE TABLE high PARTITION OF part FOR VALUES FROM (12) TO (10000)",
                    "ALTER TABLE low REPLICA IDENTITY FULL",
                    "ALTER TABLE high REPLICA IDENTITY FULL",
                    "CREATE TABLE plain (id int PRIMARY KEY, n int, u uuid)",
                    "INSERT INTO place SELECT i, repeat('p' || i, 2000) FROM generate_series(1, 20)"
                            + " i",
                    "INSERT INTO part SELECT i, i, repeat('q' || i, 2000) FROM generate_series(1,"
                            + " 20) i",
                    "INSERT INTO plain SELECT i, i FROM generate_series(1, 20) i");
            installation.startDaemon();
            installation.awaitStreaming();
            equal(installation);
            for (String table : List.of("place", "part", "plain")) {
                installation.execute(
                        "UPDATE %s SET n = n + 5 WHERE n %% 2 = 0".formatted(table),
                        "UPDATE %s SET n = n - 4 WHERE n %% 3 = 0".formatted(table),
                        "BEGIN; UPDATE %1$s SET n = n + 100 WHERE n = 3; UPDATE %1$s SET n = n - 100 WHERE n = 103; UPDATE %1$s SET n = n + 50 WHERE n = 3; COMMIT"
                                .formatted(table),
                        "DELETE FROM %s WHERE n %% 5 = 0".formatted(table));
            }
            installation.execute(
                    "UPDATE part SET id = 7 WHERE id = 1", "UPDATE part SET id = 1 WHERE id = 2");
            equal(installation);
            installation.resyncAll(
                    List.of("public.place", "public.part", "public.plain"),
                    List.of("public.place", "public.low", "public.high", "public.plain"));
            equal(installation);
        }
    }

    /** The table stops with a reason, and is whole again when the reason is gone. */
    @Test
    void anIdentityThatNoLongerLogsRowsWholeStopsTheTable() throws Exception {
        try (Installation installation = Installation.start(15)) {
            installation.configure(
                    "[tables.\"public.doc\"]\nwhere = \"shown\"\n"
                            + "[tables.\"public.flat\"]\nwhere = \"shown\"\n");
            installation.execute(
                    "CREATE TABLE doc (id int PRIMARY KEY, shown bool)",
                    "INSERT INTO doc SELECT i, i % 2 = 0 FROM generate_series(1, 20) i",
                    "CREATE TABLE model (id int, shown bool, body text)",
                    "ALTER TABLE model ALTER body SET STORAGE PLAIN",
                    "CREATE TABLE flat (LIKE model INCLUDING STORAGE, PRIMARY KEY (id))",
                    "DROP TABLE model",
                    "INSERT INTO flat SELECT i, i % 2 = 0, 'x' FROM generate_series(1, 20) i");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute("ALTER TABLE doc ADD body text");
            assertThat(installation.verify().setAside().toString())
                    .contains("public.doc", "where is refused", "REPLICA IDENTITY FULL");
            installation.execute(
                    "ALTER TABLE doc REPLICA IDENTITY FULL",
                    "ALTER TABLE doc ALTER body SET STORAGE EXTERNAL",
                    "UPDATE doc SET body = repeat('a' || id, 2000)",
                    "UPDATE doc SET shown = NOT shown WHERE id > 10");
            equal(installation);
            installation.execute("ALTER TABLE flat ALTER body SET STORAGE EXTERNAL");
            assertThat(installation.verify().setAside().toString())
                    .contains("public.flat", "where is refused", "REPLICA IDENTITY FULL");
            installation.execute(
                    "ALTER TABLE flat REPLICA IDENTITY FULL",
                    "UPDATE flat SET body = repeat('a' || id, 2000)",
                    "UPDATE flat SET shown = NOT shown WHERE id > 10");
            equal(installation);
        }
    }

    private static void equal(Installation installation) throws Exception {
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.reason()).as("%s %s", outcome.results(), outcome.setAside()).isEmpty();
    }
}
