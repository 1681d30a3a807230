package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.embedded.EmbeddedClickHouse;
import dev.walshadow.testkit.Installation;
import dev.walshadow.testkit.MixedLoad;
import dev.walshadow.testkit.cluster.ReplicaFront;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two ClickHouse that are shards: each row, with all that was before it, is on one of them. */
@Timeout(900)
final class ShardsTest {
    private static int major() {
        return Integer.getInteger(
                "walshadow.major", 15 + LocalDate.now(ZoneOffset.UTC).getDayOfYear() % 4);
    }

    private static final List<String> SCHEMA =
            List.of(
                    "CREATE TABLE kept (id int PRIMARY KEY, note text, big text)",
                    "ALTER TABLE kept ALTER big SET STORAGE EXTERNAL",
                    "INSERT INTO kept SELECT g, 'loaded', repeat(md5(g::text), 100) FROM"
                            + " generate_series(1, 1000) g",
                    "CREATE TABLE keyless (note text)",
                    "INSERT INTO keyless SELECT 'n' || g % 7 FROM generate_series(1, 300) g",
                    "CREATE TABLE pair (a uuid, b text, c numeric(8,2), v int, PRIMARY KEY (a, b,"
                            + " c))",
                    "INSERT INTO pair SELECT md5(g::text)::uuid, 'b' || g, g, g FROM"
                            + " generate_series(1, 400) g",
                    "CREATE TABLE real (f float8 PRIMARY KEY, v int)",
                    "INSERT INTO real VALUES (0, 1), ('NaN', 2), (1.5, 3), (-7, 4)",
                    "CREATE TABLE part (id int, day int, v text, PRIMARY KEY (id, day)) PARTITION"
                            + " BY RANGE (day)",
                    "CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (10)",
                    "CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (10) TO (20)",
                    "INSERT INTO part SELECT g, g % 20, 'p' FROM generate_series(1, 500) g",
                    "CREATE TABLE gone (id int PRIMARY KEY)",
                    "INSERT INTO gone SELECT generate_series(1, 50)");

    private static final List<String> CHANGES =
            List.of(
                    "UPDATE kept SET note = 'streamed' WHERE id <= 500",
                    "DELETE FROM kept WHERE id > 950",
                    "UPDATE kept SET id = id + 10000 WHERE id BETWEEN 100 AND 200",
                    "INSERT INTO kept SELECT g, 'again', 'x' FROM generate_series(100, 120) g",
                    "UPDATE keyless SET note = 'changed' WHERE note = 'n3'",
                    "DELETE FROM keyless WHERE note = 'n4'",
                    "UPDATE pair SET v = -v WHERE v % 3 = 0",
                    "UPDATE pair SET b = 'moved' WHERE v % 5 = 0",
                    "UPDATE real SET f = '-0', v = 10 WHERE f = 0",
                    "UPDATE real SET v = 20 WHERE f = 'NaN'",
                    "UPDATE part SET day = 19 WHERE id % 9 = 0",
                    "DELETE FROM part WHERE id % 7 = 0",
                    "DROP TABLE gone");

    private static final List<String> SHAPES =
            List.of(
                    "ALTER TABLE kept ADD COLUMN more int DEFAULT 7",
                    "UPDATE kept SET more = id WHERE id % 2 = 0",
                    "ALTER TABLE kept RENAME COLUMN note TO remark",
                    "ALTER TABLE kept ALTER id TYPE bigint", // another hash, and a rewrite
                    "UPDATE kept SET remark = 'wide' WHERE id % 11 = 0",
                    "ALTER TABLE pair DROP CONSTRAINT pair_pkey",
                    "ALTER TABLE pair ADD PRIMARY KEY (b, a, c)", // another order of the key
                    "UPDATE pair SET v = 1 WHERE v < 0",
                    "ALTER TABLE keyless RENAME TO renamed",
                    "ALTER TABLE part DETACH PARTITION part_2",
                    "CREATE TABLE part_3 PARTITION OF part FOR VALUES FROM (20) TO (30)",
                    "INSERT INTO part SELECT g, 25, 'new' FROM generate_series(1, 100) g",
                    "CREATE TABLE later AS SELECT g AS id, g AS v FROM generate_series(1, 50) g",
                    "ALTER TABLE later ADD PRIMARY KEY (id)",
                    "DELETE FROM later WHERE id > 40",
                    "ALTER TABLE kept ALTER more TYPE bigint",
                    "VACUUM FULL kept",
                    "DELETE FROM kept WHERE id = 1");

    @Test
    void everyRowIsOnOneShardWhateverHappensToIt() throws Exception {
        try (Installation installation = Installation.startSharded(major(), 2)) {
            installation.execute(SCHEMA);
            installation.startDaemon();
            installation.awaitStreaming();
            requireEqual(installation);
            requireApart(installation, "kept", "id", "sipHash64(id) % 2");
            requireApart(installation, "pair", "(a, b, c)", "sipHash64(a, b, c) % 2");
            assertThat(installation.status().path("target").asString(""))
                    .contains(installation.targets().get(1).url());

            installation.execute(CHANGES);
            requireEqual(installation);
            requireApart(installation, "kept", "id", "sipHash64(id) % 2");
            requireApart(installation, "keyless", "_tid", "sipHash64(_tid) % 2");
            requireApart(installation, "part", "(id, day)", "sipHash64(id, day) % 2");

            installation.execute(SHAPES);
            requireEqual(installation);
            requireApart(installation, "kept", "id", "sipHash64(id) % 2");
            requireApart(installation, "pair", "(b, a, c)", "sipHash64(b, a, c) % 2");
            requireApart(installation, "renamed", "_tid", "sipHash64(_tid) % 2");

            installation.execute(
                    "TRUNCATE kept, renamed",
                    "INSERT INTO kept SELECT g, 'anew' FROM generate_series(1, 60) g",
                    "INSERT INTO renamed VALUES ('one'), ('two'), ('three')");
            requireEqual(installation);
            installation.resync("public.pair");
            requireEqual(installation);
        }
    }

    @Test
    void goesOnAfterAShardWasAwayAndAfterAKill() throws Exception {
        try (Installation installation = Installation.startSharded(major(), 2)) {
            EmbeddedClickHouse second = installation.targets().get(1);
            installation.execute(MixedLoad.SCHEMA);
            installation.startDaemon();
            installation.awaitStreaming();
            try (MixedLoad load = new MixedLoad(installation::session, 2, 5, 10_000_000)) {
                second.kill();
                long committed = load.committed();
                installation.await("the load goes on", () -> load.committed() > committed + 50);
                installation.execute("ALTER TABLE account ADD COLUMN more int DEFAULT 3");
                installation.killDaemon();
                second.start();
                installation.startDaemon();
                second.delayInserts(Duration.ofMillis(200));
                long after = load.committed();
                installation.await("the load goes on", () -> load.committed() > after + 50);
                installation.killDaemon();
                second.delayInserts(Duration.ZERO);
                installation.startDaemon();
                second.kill();
                installation.execute("ALTER TABLE account DROP COLUMN more");
                long away = load.committed();
                installation.await("the load goes on", () -> load.committed() > away + 50);
                second.start();
            }
            requireEqual(installation);
            requireApart(installation, "account", "id", "sipHash64(id) % 2");
            requireApart(installation, "pair", "(a, b)", "sipHash64(a, b) % 2");
            requireApart(installation, "journal", "id", "sipHash64(id) % 2");
        }
    }

    @Test
    void valuesTombstonesAndDifferencesAreLookedAfterOnEveryShard() throws Exception {
        try (Installation installation = Installation.startSharded(major(), 2)) {
            installation.configure(
                    """
                    [toast]
                    mode = "clickhouse"
                    [memory]
                    recent_values = "0B"
                    [tombstones]
                    interval = "1s"
                    percent = 0
                    [verify]
                    interval = "10ms"
                    """);
            installation.execute(SCHEMA);
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute("UPDATE kept SET note = 'its value is unchanged'");
            installation.killDaemon();
            installation.execute("UPDATE kept SET id = id + 5000 WHERE id <= 500");
            installation.startDaemon();
            requireEqual(installation);
            requireApart(installation, "kept", "id", "sipHash64(id) % 2");

            installation.execute("DELETE FROM kept WHERE id % 4 = 0");
            requireEqual(installation);
            installation.execute("INSERT INTO keyless VALUES ('the floor moves on')");
            installation.await(
                    "no tombstone is left",
                    () ->
                            everywhere(installation, "SELECT sum(_is_deleted) FROM public.kept")
                                    == 0);
            requireEqual(installation);
            assertThat(installation.status().path("verify").path("differences").asLong(-1))
                    .isZero();

            EmbeddedClickHouse second = installation.targets().get(1);
            second.query("DELETE FROM public.kept WHERE id % 8 = 1 SETTINGS mutations_sync = 2");
            installation.await(
                    "what the second shard lacks is found",
                    () -> installation.status().path("verify").path("differences").asLong(0) > 0);
            Installation.CommandResult repaired = installation.command("verify", "--repair");
            assertThat(repaired.exitCode()).as(repaired.output()).isZero();
            assertThat(repaired.output()).contains("public.kept was loaded anew: equal now");
            requireApart(installation, "kept", "id", "sipHash64(id) % 2");
        }
    }

    private static long everywhere(Installation installation, String count) {
        return installation.targets().stream()
                .mapToLong(shard -> Long.parseLong(shard.query(count).strip()))
                .sum();
    }

    @Test
    void refusesOtherShardsThanThoseThatHaveTheRows() throws Exception {
        try (Installation installation = Installation.startSharded(major(), 2)) {
            String first = "\"" + installation.targets().get(0).url() + "\"";
            String second = "\"" + installation.targets().get(1).url() + "\"";
            installation.execute(
                    "CREATE TABLE t (id int PRIMARY KEY)",
                    "INSERT INTO t SELECT generate_series(1, 100)");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.configure("clickhouse", "shards = [" + second + ", " + first + "]");
            installation.signalDaemon("HUP");
            installation.execute("INSERT INTO t SELECT generate_series(101, 200)");
            installation.stopDaemon();
            assertThat(installation.startsDaemon()).isFalse();
            assertThat(installation.logged("WS-1960")).isTrue();

            installation.configure("clickhouse", "shards = [" + first + "]");
            assertThat(installation.command("check").output()).contains("WS-1901");
            installation.configure(text -> text.replaceAll("shards = .*", "url = " + first));
            assertThat(installation.command("check").output())
                    .contains("WS-1960")
                    .contains("shard 1 of 2");
            installation.configure(text -> text.replaceAll("url = \"http://.*", "url = " + second));
            assertThat(installation.command("check").output()).contains("shard 2 of 2");
            installation.configure(text ->
                    text.replaceAll(
                            "url = \"http://.*", "shards = [" + first + ", " + second + "]"));
            installation.startDaemon();
            requireEqual(installation);
            requireApart(installation, "t", "id", "sipHash64(id) % 2");

            installation.stopDaemon();
            assertThat(installation.command("uninstall", "--yes", "--drop-tables").exitCode())
                    .isZero();
            for (EmbeddedClickHouse shard : installation.targets()) {
                assertThat(shard.query("SHOW TABLES FROM public").strip()).isEmpty();
                assertThat(shard.query("SHOW DATABASES LIKE 'walshadow'").strip()).isEmpty();
            }
            installation.configure("clickhouse", "shards = [" + second + ", " + first + "]");
            installation.startDaemon();
            installation.awaitStreaming();
            requireEqual(installation);
        }
    }

    /**
     * Statements of a cluster: each is parsed by ClickHouse as it is, and carried out without it.
     */
    @Test
    void tablesThatReadAllShardsFollowTheirTables() throws Exception {
        try (Installation installation = Installation.startSharded(major(), 2);
                ReplicaFront left = new ReplicaFront(installation.targets().get(0).url(), "left");
                ReplicaFront right =
                        new ReplicaFront(installation.targets().get(1).url(), "right", 2)) {
            String shards = "shards = [\"http://%s\", \"http://%s\"]";
            installation.configure("clickhouse", shards.formatted(left.address(), right.address()));
            installation.configure("clickhouse", "cluster = \"left, right\"");
            installation.configure("[tables]\nviews = \"{database}.{table}_now\"\n");
            assertThat(installation.command("check").output()).contains("WS-1901");
            installation.configure("tables", "distributed = \"{database}.{table}_all\"");
            installation.configure("tables", "on_drop = \"drop\"");
            assertThat(installation.command("check").output()).contains("distributed_cluster");
            installation.configure("clickhouse", "distributed_cluster = \"al\"");
            assertThat(installation.command("check").output()).contains("WS-1970");
            installation.configure("clickhouse", "distributed_cluster = \"all\"");
            installation.configure("clickhouse", shards.formatted(right.address(), left.address()));
            assertThat(installation.command("check").output())
                    .contains("WS-1970")
                    .contains(
                            right.address() + " is number 1; in its remote_servers it is number 2")
                    .contains(
                            left.address() + " is number 2; in its remote_servers it is number 1");
            installation.configure("clickhouse", shards.formatted(left.address(), right.address()));
            assertThat(installation.command("check").output()).doesNotContain("WS-1970");
            installation.execute(
                    "CREATE TABLE a (id int, k text, v text, PRIMARY KEY (id, k))",
                    "INSERT INTO a SELECT g, 'k', 'v' FROM generate_series(1, 100) g",
                    "CREATE TABLE real (f float8 PRIMARY KEY)",
                    "CREATE TABLE keyless (v int)",
                    "INSERT INTO keyless SELECT generate_series(1, 50)");
            installation.startDaemon();
            installation.awaitStreaming();
            requireEqual(installation);
            requireBeside(installation, "a_all a_now keyless_all keyless_now real_all real_now");
            assertThat(beside(installation, "a_all"))
                    .isEqualTo("id k v _version _is_deleted _commit_ts _xid");

            installation.execute(
                    "ALTER TABLE a RENAME COLUMN k TO key",
                    "ALTER TABLE a DROP COLUMN v",
                    "ALTER TABLE a ADD COLUMN w int DEFAULT 1",
                    "ALTER TABLE keyless RENAME TO renamed",
                    "DELETE FROM a WHERE id > 50",
                    "DROP TABLE real");
            requireEqual(installation);
            requireBeside(installation, "a_all a_now renamed_all renamed_now");
            assertThat(beside(installation, "a_all"))
                    .isEqualTo("id key w _version _is_deleted _commit_ts _xid");
            assertThat(beside(installation, "a_now")).isEqualTo("id key w");
            assertThat(everywhere(installation, "SELECT count() FROM public.a_now")).isEqualTo(50);

            // one of the two is lost while no daemon runs
            installation.stopDaemon();
            installation.targets().get(1).query("DROP TABLE public.a_all SYNC");
            installation.startDaemon();
            requireBeside(installation, "a_all a_now renamed_all renamed_now");
            installation.stopDaemon();
            assertThat(installation.command("uninstall", "--yes").output())
                    .contains("drop the Distributed table public.a_all");
            requireBeside(installation, "");
            assertThat(left.wrong()).isEmpty();
            assertThat(right.wrong()).isEmpty();
        }
    }

    /** What stands beside the tables, the same on every shard. */
    private static void requireBeside(Installation installation, String names) {
        for (EmbeddedClickHouse shard : installation.targets()) {
            assertThat(
                            shard.query(
                                            "SELECT arrayStringConcat(arraySort(groupArray(name)),"
                                                    + " ' ') FROM system.tables WHERE database ="
                                                    + " 'public' AND engine IN ('View', 'Merge')")
                                    .strip())
                    .isEqualTo(names);
        }
    }

    private static String beside(Installation installation, String name) {
        return installation
                .targets()
                .get(1)
                .query(
                        "SELECT arrayStringConcat(groupArray(name), ' ') FROM (SELECT name FROM"
                                + " system.columns WHERE database = 'public' AND table = '"
                                + name
                                + "' ORDER BY position)")
                .strip();
    }

    private static void requireEqual(Installation installation) throws Exception {
        assertThat(installation.verify().reason()).isEmpty();
    }

    /** All versions and tombstones of a key are on the shard that its hash names. */
    private static void requireApart(
            Installation installation, String table, String key, String place) {
        Set<String> seen = new HashSet<>();
        List<Integer> counts = new ArrayList<>();
        for (EmbeddedClickHouse shard : installation.targets()) {
            List<String> keys =
                    shard.query(
                                    "SELECT DISTINCT toString(tuple("
                                            + key
                                            + ")), "
                                            + place
                                            + " FROM public."
                                            + table)
                            .lines()
                            .toList();
            counts.add(keys.size());
            for (String line : keys) {
                assertThat(seen.add(line.substring(0, line.lastIndexOf('\t')))).as(line).isTrue();
                assertThat(line).endsWith("\t" + (counts.size() - 1));
            }
        }
        assertThat(counts).allMatch(count -> count > 0);
    }
}
