package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the settings under {@code [tables]} say of tables and partitions that go. */
@Timeout(180)
final class PoliciesTest {
    private static final String[] SCHEMA = {
        "CREATE TABLE gone (id int PRIMARY KEY)",
        "INSERT INTO gone VALUES (1)",
        "CREATE TABLE p (id int, at int, PRIMARY KEY (id, at)) PARTITION BY RANGE (at)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20)",
        "CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (20) TO (30)",
        "INSERT INTO p VALUES (1, 1), (2, 12), (3, 23)",
    };

    private static final String[] ENDS = {
        "DROP TABLE gone",
        "ALTER TABLE p DETACH PARTITION p1",
        "DROP TABLE p2",
        "TRUNCATE p3",
        "INSERT INTO p VALUES (4, 24)",
    };

    private static Installation started() throws Exception {
        Installation installation = Installation.start(17);
        installation.execute(SCHEMA);
        return installation;
    }

    private static Verification.Outcome end(Installation installation) throws Exception {
        installation.startDaemon();
        installation.awaitStreaming();
        installation.verify();
        installation.execute(ENDS);
        return installation.verify();
    }

    private static String ids(Installation installation, String table) {
        return installation
                .target()
                .query("SELECT id FROM public." + table + " FINAL ORDER BY id")
                .strip()
                .replace('\n', ' ');
    }

    private static String tables(Installation installation) {
        return installation
                .target()
                .query("SELECT name FROM system.tables WHERE database = 'public' ORDER BY name")
                .strip()
                .replace('\n', ' ');
    }

    @Test
    void byDefaultPartitionsFollowTheSourceAndDroppedTablesStay() throws Exception {
        try (Installation installation = started()) {
            assertThat(end(installation).reason()).isEmpty();
            assertThat(ids(installation, "gone")).isEqualTo("1");
            assertThat(ids(installation, "p")).isEqualTo("4");
            assertThat(ids(installation, "p1")).isEqualTo("1");
            assertThat(tables(installation)).isEqualTo("gone p p1");
        }
    }

    @Test
    void droppedTablesGoAndPartitionsRowsStayWhereThatIsWanted() throws Exception {
        try (Installation installation = started()) {
            installation.configure("tables", "on_drop = \"drop\"");
            installation.configure("tables", "on_detach = \"retain\"");
            end(installation);
            assertThat(tables(installation)).isEqualTo("p p1");
            assertThat(ids(installation, "p")).isEqualTo("1 2 3 4");
            assertThat(ids(installation, "p1")).isEqualTo("1");
        }
    }

    @Test
    void partitionsCanBeTablesOfTheirOwn() throws Exception {
        try (Installation installation = started()) {
            installation.configure("tables", "partitions = \"leaf\"");
            assertThat(end(installation).reason()).isEmpty();
            assertThat(tables(installation)).isEqualTo("gone p1 p2 p3");
            assertThat(ids(installation, "p2")).isEqualTo("2");
            assertThat(ids(installation, "p3")).isEqualTo("4");
        }
    }
}
