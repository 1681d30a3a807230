package dev.walshadow.catalog;

import static dev.walshadow.catalog.Descriptors.DATABASE;
import static dev.walshadow.catalog.Descriptors.locator;
import static dev.walshadow.catalog.Descriptors.table;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.Invariant.BrokenInvariantError;
import dev.walshadow.postgres.RelationLocator;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class DescriptorLogTest {
    private static final long SYSTEM = 0x7654_3210_FEDC_BA98L;

    @TempDir Path folder;

    private DescriptorLog open() {
        return DescriptorLog.open(folder, SYSTEM);
    }

    private Path file() {
        return folder.resolve("descriptors.log");
    }

    @Test
    void findsTheShapeThatWasValidAtAPosition() {
        RelationDescriptor first = table(100, 100, "id");
        RelationDescriptor second = table(100, 100, "id", "note");
        try (DescriptorLog log = open()) {
            log.append(1_000, List.of(first), List.of(), DATABASE);
            log.append(2_000, List.of(second), List.of(), DATABASE);
            assertThat(log.find(DATABASE, 100, 999)).isNull();
            assertThat(log.find(DATABASE, 100, 1_000)).isEqualTo(first);
            assertThat(log.find(locator(100), 1_999)).isEqualTo(first);
            assertThat(log.find(locator(100), 2_000)).isEqualTo(second);
            assertThat(log.find(DATABASE, 100, Long.MAX_VALUE)).isEqualTo(second);
            assertThat(log.find(DATABASE + 1, 100, 2_000)).isNull();
            assertThat(log.lastLsn()).isEqualTo(2_000);
        }
    }

    @Test
    void refusesToBeShorterThanItIsKnownToHaveBeen() throws IOException {
        try (DescriptorLog log = open()) {
            log.append(1_000, List.of(table(100, 100, "id")), List.of(), DATABASE);
            log.append(2_000, List.of(table(100, 100, "id", "note")), List.of(), DATABASE);
        }
        Path file = file();
        byte[] whole = Files.readAllBytes(file);
        byte[] cut = Arrays.copyOf(whole, whole.length - 20);
        Files.write(file, cut);
        assertThatThrownBy(() -> DescriptorLog.open(folder, SYSTEM, 2_000))
                .hasMessageContaining("WS-1300")
                .hasMessageContaining("0/7D0");
        assertThat(file).hasBinaryContent(cut);
        DescriptorLog.open(folder, SYSTEM, 1_000).close();
        Files.delete(file);
        assertThatThrownBy(() -> DescriptorLog.open(folder, SYSTEM, 1_000))
                .hasMessageContaining("gone");
        assertThat(file).doesNotExist();
    }

    @Test
    void forgetsTheOldStorageOfARelationFromItsMoveOn() {
        RelationDescriptor before = table(100, 100, "id");
        RelationDescriptor after = table(100, 200, "id");
        try (DescriptorLog log = open()) {
            log.append(1_000, List.of(before), List.of(), DATABASE);
            log.append(2_000, List.of(after), List.of(), DATABASE);
            assertThat(log.find(locator(100), 1_999)).isEqualTo(before);
            assertThat(log.find(locator(100), 2_000)).isNull();
            assertThat(log.find(locator(200), 2_000)).isEqualTo(after);
            assertThat(log.find(locator(200), 1_999)).isNull();
        }
    }

    @Test
    void followsTwoRelationsThatExchangeTheirStorage() {
        try (DescriptorLog log = open()) {
            log.append(1, List.of(table(1, 100, "a"), table(2, 200, "b")), List.of(), DATABASE);
            log.append(2, List.of(table(1, 200, "a"), table(2, 100, "b")), List.of(), DATABASE);
            assertThat(log.find(locator(200), 2)).isEqualTo(table(1, 200, "a"));
            assertThat(log.find(locator(100), 2)).isEqualTo(table(2, 100, "b"));
        }
    }

    @Test
    void endsWhatIsDroppedAndKeepsItsPast() {
        RelationDescriptor table = table(100, 100, "id");
        try (DescriptorLog log = open()) {
            log.append(1_000, List.of(table), List.of(), DATABASE);
            log.append(2_000, List.of(), List.of(100, 555), DATABASE);
            assertThat(log.find(locator(100), 2_000)).isNull();
            assertThat(log.find(DATABASE, 100, 2_000)).isNull();
            assertThat(log.find(DATABASE, 100, 1_999)).isEqualTo(table);
            assertThat(log.active(1_999)).containsExactly(table);
            assertThat(log.active(2_000)).isEmpty();
        }
    }

    @Test
    void readsBackWhatItWrote() {
        Random random = new Random(7);
        List<RelationDescriptor> relations = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            relations.add(Descriptors.random(random));
        }
        try (DescriptorLog log = open()) {
            log.append(10, relations, List.of(), DATABASE);
        }
        try (DescriptorLog log = open()) {
            assertThat(log.active(10)).containsExactlyInAnyOrderElementsOf(relations);
            assertThat(log.lastLsn()).isEqualTo(10);
        }
    }

    @Test
    void storesNothingForARelationThatDidNotChange() throws IOException {
        try (DescriptorLog log = open()) {
            log.append(1, List.of(table(1, 1, "a")), List.of(), DATABASE);
            long length = Files.size(file());
            log.append(2, List.of(table(1, 1, "a")), List.of(), DATABASE);
            assertThat(Files.size(file()) - length).isLessThanOrEqualTo(64);
            assertThat(log.lastLsn()).isEqualTo(2);
        }
    }

    @Test
    void refusesToGoBack() {
        try (DescriptorLog log = open()) {
            log.append(2, List.of(), List.of(), DATABASE);
            assertThatThrownBy(() -> log.append(1, List.of(), List.of(), DATABASE))
                    .isInstanceOf(BrokenInvariantError.class);
        }
    }

    @Test
    void cutsOffATornEndWhereverItWasTorn() throws IOException {
        long whole;
        try (DescriptorLog log = open()) {
            log.append(1, List.of(table(1, 1, "a")), List.of(), DATABASE);
            whole = Files.size(file());
            log.append(2, List.of(table(2, 2, "b")), List.of(), DATABASE);
        }
        byte[] bytes = Files.readAllBytes(file());
        for (int length = (int) whole; length < bytes.length; length++) {
            Files.write(file(), Arrays.copyOf(bytes, length));
            checkTorn(length);
            // the file has its length, but what follows never reached the disk
            byte[] zeroed = bytes.clone();
            Arrays.fill(zeroed, length, bytes.length, (byte) 0);
            Files.write(file(), zeroed);
            checkTorn(length);
        }
    }

    private void checkTorn(int length) {
        try (DescriptorLog log = open()) {
            assertThat(log.find(DATABASE, 1, 9)).as("cut at %d", length).isNotNull();
            // what was lost is at most the second append; appending goes on behind the cut
            boolean second = log.find(DATABASE, 2, 9) != null;
            assertThat(log.lastLsn()).isEqualTo(second ? 2 : 1);
            log.append(3, List.of(table(3, 3, "c")), List.of(), DATABASE);
        }
        try (DescriptorLog log = open()) {
            assertThat(log.find(DATABASE, 3, 9)).as("cut at %d", length).isNotNull();
            assertThat(log.lastLsn()).isEqualTo(3);
        }
    }

    @Test
    void refusesDamageInTheMiddleWithItsPositionAndChangesNothing() throws IOException {
        long start;
        long end;
        try (DescriptorLog log = open()) {
            start = Files.size(file());
            log.append(1, List.of(table(1, 1, "a")), List.of(), DATABASE);
            end = Files.size(file());
            log.append(2, List.of(table(2, 2, "b")), List.of(), DATABASE);
        }
        byte[] bytes = Files.readAllBytes(file());
        int refused = 0;
        for (int at = (int) start; at < end; at++) {
            byte[] damaged = bytes.clone();
            damaged[at] ^= 0x10;
            Files.write(file(), damaged);
            try (DescriptorLog log = open()) {
                // padding carries nothing
                assertThat(log.find(DATABASE, 1, 9)).as("damage at %d", at).isNotNull();
                assertThat(at).isGreaterThan((int) end - 16);
            } catch (HaltException e) {
                refused++;
                assertThat(e).hasMessageContaining("byte " + start);
            }
            assertThat(Files.readAllBytes(file())).isEqualTo(damaged);
        }
        assertThat(refused).isGreaterThan(100);
    }

    @Test
    void refusesAForeignANewerAndADamagedHeader() throws IOException {
        open().close();
        byte[] bytes = Files.readAllBytes(file());
        assertThatThrownBy(() -> DescriptorLog.open(folder, 1))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("another PostgreSQL cluster");
        byte[] newer = bytes.clone();
        newer[8]++;
        Files.write(file(), newer);
        assertThatThrownBy(this::open)
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("newer");
        byte[] older = bytes.clone();
        older[8] = (byte) (DescriptorLogLayout.OLDEST_VERSION - 1);
        Files.write(file(), older);
        assertThatThrownBy(this::open)
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("older");
        for (int at = 0; at < bytes.length; at++) {
            byte[] damaged = bytes.clone();
            damaged[at] ^= 1;
            Files.write(file(), damaged);
            assertThatThrownBy(this::open).as("byte %d", at).isNotNull();
            assertThat(Files.readAllBytes(file())).isEqualTo(damaged);
        }
    }

    @Test
    void owesAShapeFromItsChangeUntilItIsReadOrGone() {
        RelationDescriptor table = table(100, 100, "id");
        RelationDescriptor other = table(200, 200, "id");
        try (DescriptorLog log = open()) {
            log.append(1_000, List.of(table, other), List.of(), DATABASE);
            assertThat(log.owesShapes()).isFalse();
            log.owe(2_000, DATABASE, List.of(100, 200));
            log.owe(2_500, DATABASE, List.of(100));
            assertThat(log.lastLsn()).isEqualTo(2_500);
            assertThat(log.changesAt(2_000)).isEmpty();
        }
        try (DescriptorLog log = open()) {
            assertThat(log.lastLsn()).isEqualTo(2_500);
            assertThat(log.owed(DATABASE)).containsExactly(100, 200);
            assertThat(log.isOwed(table, Long.MAX_VALUE)).isTrue();
            assertThat(log.isOwed(table, 1_500)).as("nobody knows what is next").isTrue();
            assertThat(log.find(locator(100), 3_000)).isEqualTo(table);
            // an equal shape is news
            log.append(3_000, List.of(table), List.of(200), DATABASE);
            assertThat(log.changesAt(3_000))
                    .containsExactlyInAnyOrder(
                            new DescriptorLog.Change(table, table),
                            new DescriptorLog.Change(other, null));
        }
        try (DescriptorLog log = open()) {
            assertThat(log.owesShapes()).isFalse();
            assertThat(log.owed(DATABASE)).isEmpty();
            assertThat(log.isOwed(table, 2_999)).isTrue();
            assertThat(log.isOwed(table, 3_000)).isFalse();
            assertThat(log.isOwed(other, 3_000)).isFalse();
            assertThatThrownBy(() -> log.owe(4_000, DATABASE, List.of(200)))
                    .isInstanceOf(BrokenInvariantError.class);
        }
    }

    @Test
    void compactionKeepsWhatIsOwedAtAndAboveTheFloor() {
        RelationDescriptor table = table(100, 100, "id");
        RelationDescriptor other = table(200, 200, "id");
        RelationDescriptor third = table(300, 300, "id");
        try (DescriptorLog log = open()) {
            log.append(1, List.of(table, other, third), List.of(), DATABASE);
            log.owe(2, DATABASE, List.of(100, 200, 300));
            log.append(3, List.of(other), List.of(), DATABASE);
            for (int lsn = 4; lsn < 20; lsn++) {
                log.append(lsn, List.of(table(400, lsn, "id")), List.of(), DATABASE);
            }
            log.append(20, List.of(third), List.of(), DATABASE);
            // a change that is read at its own position was never unknown
            log.owe(21, DATABASE, List.of(400));
            log.append(21, List.of(table(400, 19, "id", "note")), List.of(), DATABASE);
            log.compact(15);
            checkOwed(log, table, other, third);
        }
        try (DescriptorLog log = open()) {
            checkOwed(log, table, other, third);
            log.compact(21);
        }
        try (DescriptorLog log = open()) {
            assertThat(log.owed(DATABASE)).containsExactly(100);
            assertThat(log.isOwed(third, 19)).isFalse();
        }
    }

    private static void checkOwed(
            DescriptorLog log,
            RelationDescriptor still,
            RelationDescriptor read,
            RelationDescriptor until) {
        assertThat(log.owed(DATABASE)).containsExactly(100);
        assertThat(log.isOwed(still, Long.MAX_VALUE)).isTrue();
        assertThat(log.isOwed(read, 15)).isFalse();
        assertThat(log.isOwed(until, 19)).isTrue();
        assertThat(log.isOwed(until, 20)).isFalse();
        assertThat(log.isOwed(table(400, 19, "id"), 20)).isFalse();
        assertThat(log.find(DATABASE, 100, 21)).isEqualTo(still);
    }

    @Test
    void readsAnOlderVersionsFileAndKeepsThatVersionFromReadingIt() throws IOException {
        RelationDescriptor table = table(100, 100, "id");
        try (DescriptorLog log = open()) {
            log.append(1_000, List.of(table), List.of(), DATABASE);
        }
        byte[] now = Files.readAllBytes(file());
        byte[] before = now.clone();
        byte[] header = DescriptorLogLayout.header(SYSTEM, DescriptorLogLayout.OLDEST_VERSION);
        System.arraycopy(header, 0, before, 0, header.length);
        Files.write(file(), before);
        assertThat(DescriptorHistory.read(folder).newest()).hasSize(1);
        assertThat(file()).hasBinaryContent(before);
        try (DescriptorLog log = open()) {
            assertThat(log.find(DATABASE, 100, 1_000)).isEqualTo(table);
            assertThat(file()).hasBinaryContent(now);
            log.owe(2_000, DATABASE, List.of(100));
        }
        try (DescriptorLog log = open()) {
            assertThat(log.owed(DATABASE)).containsExactly(100);
        }
    }

    @Test
    void tellsPeopleWhatChangedUnread() {
        RelationDescriptor table = table(100, 100, "id");
        RelationDescriptor wider = table(100, 100, "id", "note");
        try (DescriptorLog log = open()) {
            log.append(1_000, List.of(table), List.of(), DATABASE);
            log.owe(2_000, DATABASE, List.of(100));
            assertThat(DescriptorHistory.read(folder).newest())
                    .singleElement()
                    .matches(DescriptorHistory.Change::unread);
            log.append(3_000, List.of(wider), List.of(), DATABASE);
        }
        List<DescriptorHistory.Change> changes = DescriptorHistory.read(folder).changes();
        assertThat(changes)
                .extracting(DescriptorHistory.Change::unread)
                .containsExactly(false, true, false);
        assertThat(changes.get(1).what()).contains("left out");
        assertThat(changes.get(2).what()).startsWith("read again").contains("note");
        assertThat(DescriptorHistory.read(folder).newest())
                .singleElement()
                .matches(change -> !change.unread() && wider.equals(change.after()));
    }

    /** The model: what stood in each place, per position. */
    private static final class Model {
        final Map<Integer, NavigableMap<Long, Optional<RelationDescriptor>>> places =
                new HashMap<>();

        void put(int place, long lsn, @Nullable RelationDescriptor relation) {
            places.computeIfAbsent(place, of -> new TreeMap<>())
                    .put(lsn, Optional.ofNullable(relation));
        }

        @Nullable RelationDescriptor at(int place, long lsn) {
            NavigableMap<Long, Optional<RelationDescriptor>> versions = places.get(place);
            Map.Entry<Long, Optional<RelationDescriptor>> entry =
                    versions == null ? null : versions.floorEntry(lsn);
            return entry == null ? null : entry.getValue().orElse(null);
        }
    }

    @Test
    void compactionKeepsEveryAnswerAtAndAboveTheFloor() {
        long seed = Long.getLong("walshadow.seed", System.nanoTime());
        Random random = new Random(seed);
        Model relations = new Model();
        Model storage = new Model();
        int nextNumber = 1_000;
        long floor = 0;
        DescriptorLog log = open();
        for (long lsn = 1; lsn <= 300; lsn++) {
            int oid = 1 + random.nextInt(20);
            RelationDescriptor known = relations.at(oid, lsn);
            RelationLocator left = known == null ? null : known.locator();
            if (left != null) {
                storage.put(left.relationNumber(), lsn, null);
            }
            if (random.nextInt(4) == 0) {
                log.append(lsn, List.of(), List.of(oid), DATABASE);
                relations.put(oid, lsn, null);
            } else {
                int number =
                        left == null || random.nextBoolean() ? nextNumber++ : left.relationNumber();
                RelationDescriptor made = table(oid, number, "id", "c" + random.nextInt(3));
                log.append(lsn, List.of(made), List.of(), DATABASE);
                relations.put(oid, lsn, made);
                storage.put(number, lsn, made);
            }
            if (random.nextInt(20) == 0) {
                floor = Math.max(floor, lsn - random.nextInt(10));
                log.compact(floor);
            }
            if (random.nextInt(30) == 0) {
                log.close();
                log = open();
            }
            assertThat(log.lastLsn()).as("seed %d", seed).isEqualTo(lsn);
            for (long at = floor; at <= lsn; at += 1 + (lsn - floor) / 10) {
                check(log, relations, storage, at, seed);
            }
        }
        log.close();
    }

    private static void check(
            DescriptorLog log, Model relations, Model storage, long at, long seed) {
        for (int oid : relations.places.keySet()) {
            assertThat(log.find(DATABASE, oid, at))
                    .as("oid %d at %d, seed %d", oid, at, seed)
                    .isEqualTo(relations.at(oid, at));
        }
        for (int number : storage.places.keySet()) {
            assertThat(log.find(locator(number), at))
                    .as("storage %d at %d, seed %d", number, at, seed)
                    .isEqualTo(storage.at(number, at));
        }
    }

    @Test
    void compactionShrinksTheFile() throws IOException {
        try (DescriptorLog log = open()) {
            for (int lsn = 1; lsn <= 500; lsn++) {
                log.append(lsn, List.of(table(1, lsn, "c" + lsn)), List.of(), DATABASE);
            }
            long before = Files.size(file());
            log.compact(500);
            assertThat(Files.size(file())).isLessThan(before / 100);
        }
        try (DescriptorLog log = open()) {
            assertThat(log.find(DATABASE, 1, 500)).isEqualTo(table(1, 500, "c500"));
        }
    }

    @Test
    void sharesEqualPartsOfManyTables() {
        List<RelationDescriptor> tables = new ArrayList<>();
        for (int oid = 1; oid <= 20_000; oid++) {
            tables.add(table(oid, oid, "id", "name", "note", "created_at", "updated_at"));
        }
        try (DescriptorLog log = open()) {
            log.append(1, tables, List.of(), DATABASE);
        }
        try (DescriptorLog log = open()) {
            RelationDescriptor first = Objects.requireNonNull(log.find(DATABASE, 1, 1));
            RelationDescriptor other = Objects.requireNonNull(log.find(DATABASE, 20_000, 1));
            assertThat(first.attributes()).isSameAs(other.attributes());
            assertThat(first.types()).isSameAs(other.types());
            assertThat(first.name().schema()).isSameAs(other.name().schema());
        }
    }
}
