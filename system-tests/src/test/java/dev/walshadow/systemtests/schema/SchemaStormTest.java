package dev.walshadow.systemtests.schema;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.catalog.DescriptorHistory;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Random histories of tables and rows end equal in ClickHouse, the daemon killed in the middle of
 * every third; and what the daemon knows of the catalogs is what the source has. {@code
 * -Dwalshadow.seed=N} repeats a run, {@code -Dwalshadow.major=N} chooses a major and {@code
 * -Dwalshadow.histories=N} how many; {@code -Dwalshadow.soak=true} makes 500, over all majors. Some
 * (one of {@code -Dwalshadow.leftout=N}) are left out and followed at the end.
 */
@Timeout(3600)
final class SchemaStormTest {
    private static final boolean SOAK = Boolean.getBoolean("walshadow.soak");
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final int[] MAJORS = {15, 16, 17, 18};
    private static final int HISTORIES = Integer.getInteger("walshadow.histories", SOAK ? 125 : 30);
    private static final int TOGETHER = 10;
    private static final int STEPS = 40;

    /** One of so many histories is left out. */
    private static final int LEFT_OUT = Integer.getInteger("walshadow.leftout", 5);

    @Test
    void everyHistoryEndsEqual() throws Exception {
        Integer only = Integer.getInteger("walshadow.major");
        if (only != null) {
            run(only, SEED);
        } else if (SOAK) {
            for (int major : MAJORS) {
                run(major, SEED + major);
            }
        } else {
            run(MAJORS[(int) (SEED % MAJORS.length)], SEED);
        }
    }

    private static void run(int major, long seed) throws Exception {
        say("PostgreSQL " + major + ", seed " + seed);
        try (Installation installation = Installation.start(major)) {
            installation.configure("tables", "exclude = [" + leftOut() + "]");
            installation.startDaemon();
            installation.awaitStreaming();
            for (int round = 0; round < HISTORIES / TOGETHER; round++) {
                for (int i = 0; i < TOGETHER; i++) {
                    play(installation, seed, round * TOGETHER + i);
                }
                Verification.Outcome outcome = installation.verify();
                assertThat(outcome.reason())
                        .describedAs("after history %d of seed %d", (round + 1) * TOGETHER, seed)
                        .isEmpty();
                requireSameCatalog(installation, seed);
            }
            installation.killDaemon();
            installation.configure("tables", "exclude = []");
            installation.startDaemon();
            assertThat(installation.verify().reason())
                    .describedAs("with what was left out, seed %d", seed)
                    .isEmpty();
            requireSameCatalog(installation, seed);
        }
    }

    /** Histories whose tables are followed afterwards only, and where the others' tables go. */
    private static String leftOut() {
        return Stream.concat(
                        IntStream.range(0, HISTORIES)
                                .filter(number -> number % LEFT_OUT == LEFT_OUT - 1)
                                .mapToObj(number -> "storm" + number + ".*"),
                        Stream.of("storm*" + RandomHistory.ELSEWHERE + ".*"))
                .map(pattern -> '"' + pattern + '"')
                .collect(Collectors.joining(", "));
    }

    /**
     * What the shadow's captures have made of the catalogs is what the source has: of relations
     * that changed unread, their names and places.
     */
    static void requireSameCatalog(Installation installation, long seed) throws SQLException {
        Map<Integer, RelationDescriptor> known = new HashMap<>();
        Set<Integer> unread = new HashSet<>();
        for (DescriptorHistory.Change change :
                DescriptorHistory.read(installation.state().resolve("desclog")).newest()) {
            RelationDescriptor relation = change.relation();
            if (relation.databaseOid() != 0) {
                known.put(relation.oid(), relation);
            }
            if (change.unread()) {
                unread.add(relation.oid());
            }
        }
        List<RelationDescriptor> actual;
        try (Connection session = installation.session()) {
            actual = new CatalogReader().readAll(session);
        }
        Map<Integer, RelationDescriptor> there = new HashMap<>();
        for (RelationDescriptor relation : actual) {
            RelationDescriptor then = known.get(relation.oid());
            there.put(
                    relation.oid(),
                    then != null && unread.contains(relation.oid())
                            ? placed(then, relation)
                            : relation);
        }
        assertThat(known)
                .as("the descriptor log, seed %d", seed)
                .containsExactlyInAnyOrderEntriesOf(there);
    }

    /** One's columns and keys with the other's name and place. */
    private static RelationDescriptor placed(RelationDescriptor columns, RelationDescriptor place) {
        return new RelationDescriptor(
                place.oid(),
                place.databaseOid(),
                place.name(),
                place.kind(),
                place.persistence(),
                place.locator(),
                place.toastRelationOid(),
                place.ownerRelationOid(),
                columns.replicaIdentity(),
                place.accessMethod(),
                place.parentOid(),
                columns.attributes(),
                columns.primaryKey(),
                columns.identityKey(),
                columns.types(),
                columns.keyIndexOid());
    }

    private static void play(Installation installation, long seed, int number) throws Exception {
        List<String> statements = RandomHistory.of(seed * 1000 + number, "storm" + number, STEPS);
        int kill = number % 3 == 2 ? statements.size() / 2 : -1;
        try (Connection session = installation.session();
                Statement statement = session.createStatement()) {
            for (int i = 0; i < statements.size(); i++) {
                statement.execute(statements.get(i));
                if (i == kill) {
                    installation.killDaemon();
                }
            }
        }
        if (kill >= 0) {
            installation.startDaemon();
        }
    }

    private static void say(String line) {
        System.out.println(line);
    }
}
