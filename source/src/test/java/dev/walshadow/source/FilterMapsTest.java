package dev.walshadow.source;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.ByteBuilder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The filter's open-addressing maps against java.util's. */
class FilterMapsTest {
    private final long seed = Long.getLong("walshadow.seed", 5);
    private final Random random = new Random(seed);

    @Test
    void whatAnEarlierVersionDidNotNoteCountsAsDone() {
        long written = Catalogs.CLASS | Catalogs.CLASS_CHANGED;
        assertThat(Catalogs.resumed(written | Catalogs.TOLD_ALL))
                .isEqualTo(written | Catalogs.TOLD_ALL);
        assertThat(Catalogs.resumed(written | Catalogs.TOLD))
                .isEqualTo(written | Catalogs.TOLD | Catalogs.CLASS_MOVED | Catalogs.INDEX_UPDATED);
        assertThat(Catalogs.resumed(written) & Catalogs.ANY).isEqualTo(Catalogs.ANY);
    }

    @Test
    void xidMapBehavesLikeAMap() {
        XidMap map = new XidMap();
        Map<Integer, Long> model = new HashMap<>();
        for (int round = 0; round < 200_000; round++) {
            int xid = 1 + random.nextInt(500);
            switch (random.nextInt(6)) {
                case 0, 1 -> {
                    map.put(xid, round + 1);
                    model.put(xid, round + 1L);
                }
                case 2 -> {
                    map.or(xid, 8);
                    model.merge(xid, 8L, (a, b) -> a | b);
                }
                case 3, 4 -> {
                    Long removed = model.remove(xid);
                    assertThat(map.remove(xid)).isEqualTo(removed == null ? 0 : removed);
                }
                default -> {
                    if (random.nextInt(200) == 0) {
                        map.removeIf((key, value) -> key % 3 == 0);
                        model.keySet().removeIf(key -> key % 3 == 0);
                    }
                }
            }
            assertThat(map.get(xid)).isEqualTo(model.getOrDefault(xid, 0L));
            assertThat(map.size()).isEqualTo(model.size());
        }
        ByteBuilder out = new ByteBuilder(64);
        map.encode(out);
        XidMap copy = new XidMap();
        copy.decode(ByteBuffer.wrap(out.toByteArray()).order(ByteOrder.LITTLE_ENDIAN));
        Map<Integer, Long> found = new HashMap<>();
        copy.forEach(found::put);
        assertThat(found).isEqualTo(model);
    }

    @Test
    void rewrittenCatalogsBehaveLikeAMap() {
        RewrittenCatalogs catalogs = new RewrittenCatalogs();
        Map<List<Integer>, Long> model = new HashMap<>();
        for (int round = 0; round < 50_000; round++) {
            int tablespace = 1663 + random.nextInt(2);
            int database = 5 + random.nextInt(3);
            int relation = 16384 + random.nextInt(60);
            List<Integer> key = List.of(tablespace, database, relation);
            if (random.nextInt(3) > 0) {
                catalogs.put(tablespace, database, relation, round + 1L, 0);
                model.put(key, round + 1L);
            } else {
                assertThat(catalogs.remove(tablespace, database, relation))
                        .isEqualTo(model.remove(key) != null);
            }
            if (random.nextInt(500) == 0) {
                catalogs.dropDatabase(6, 1663);
                model.keySet().removeIf(k -> k.get(0) == 1663 && k.get(1) == 6);
            }
            assertThat(catalogs.get(tablespace, database, relation))
                    .isEqualTo(model.getOrDefault(key, 0L));
            assertThat(catalogs.size()).isEqualTo(model.size());
        }
        catalogs.copyDatabase(5, 1663, 99, 1700);
        model.forEach((key, bits) -> {
            if (key.get(0) == 1663 && key.get(1) == 5) {
                assertThat(catalogs.get(1700, 99, key.get(2))).isEqualTo(bits);
            }
        });
    }
}
