package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.testkit.Installation;
import dev.walshadow.testkit.cluster.ReplicaFront;
import java.time.LocalDate;
import java.time.ZoneOffset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A ClickHouse cluster of two replicas, one of which goes. */
@Timeout(600)
final class ClusterTest {
    private static int major() {
        return Integer.getInteger(
                "walshadow.major", 15 + LocalDate.now(ZoneOffset.UTC).getDayOfYear() % 4);
    }

    @Test
    void goesOnWithTheOtherReplicaAndChangesTablesOfBoth() throws Exception {
        try (Installation installation = Installation.start(major());
                ReplicaFront one = new ReplicaFront(installation.target().url(), "pair");
                ReplicaFront other = new ReplicaFront(installation.target().url(), "pair")) {
            installation.configure(text ->
                    text.replace(
                                    installation.target().url(),
                                    "http://" + one.address() + "," + other.address())
                            .replace("[clickhouse]\n", "[clickhouse]\ncluster = \"pair\"\n"));
            installation.execute(
                    "CREATE TABLE kept (id int PRIMARY KEY, note text)",
                    "INSERT INTO kept SELECT g, 'loaded' FROM generate_series(1, 1000) g",
                    "CREATE TABLE keyless (note text)",
                    "INSERT INTO keyless VALUES ('a'), ('a')");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute("UPDATE kept SET note = 'streamed' WHERE id <= 10");
            assertThat(installation.verify().reason()).isEmpty();
            assertThat(one.inserts()).isPositive();
            assertThat(other.inserts()).isZero();

            one.loseAnswers(3);
            installation.execute(
                    "ALTER TABLE kept ADD COLUMN more int DEFAULT 7",
                    "UPDATE kept SET more = id WHERE id % 2 = 0",
                    "ALTER TABLE kept ALTER id TYPE bigint",
                    "DELETE FROM kept WHERE id > 900",
                    "TRUNCATE keyless",
                    "INSERT INTO keyless VALUES ('b'), ('b')",
                    "ALTER TABLE keyless RENAME TO renamed",
                    "CREATE TABLE later AS SELECT g AS id FROM generate_series(1, 50) g");
            assertThat(installation.verify().reason()).isEmpty();
            assertThat(other.inserts()).isPositive();

            one.shutDown();
            installation.execute(
                    "INSERT INTO kept SELECT g, 'after', g FROM generate_series(2000, 3000) g",
                    "ALTER TABLE later ADD PRIMARY KEY (id)",
                    "DROP TABLE renamed");
            assertThat(installation.verify().reason()).isEmpty();

            // with the first host of the list away
            installation.stopDaemon();
            installation.startDaemon();
            installation.execute("UPDATE kept SET note = 'restarted' WHERE id <= 5");
            assertThat(installation.verify().reason()).isEmpty();
            assertThat(one.wrong()).isEmpty();
            assertThat(other.wrong()).isEmpty();
            assertThat(installation.logged("WS-1207")).isTrue();
        }
    }

    @Test
    void namesTheClustersThereAre() throws Exception {
        try (Installation installation = Installation.start(major());
                ReplicaFront front = new ReplicaFront(installation.target().url(), "pair")) {
            installation.configure(text ->
                    text.replace(installation.target().url(), "http://" + front.address())
                            .replace("[clickhouse]\n", "[clickhouse]\ncluster = \"pear\"\n"));
            assertThat(installation.startsDaemon()).isFalse();
            assertThat(installation.logged("WS-1970")).isTrue();
            assertThat(installation.logged("it knows all, pair")).isTrue();
        }
    }
}
