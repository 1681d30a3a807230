package dev.walshadow.transaction;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class XidMapTest {
    @Test
    void behavesLikeAMap() {
        long seed = Long.getLong("walshadow.seed", new Random().nextLong());
        Random random = new Random(seed);
        XidMap<Integer> map = new XidMap<>();
        Map<Integer, Integer> model = new HashMap<>();
        for (int i = 0; i < 200_000; i++) {
            int key = random.nextInt(500) * 64 + 1; // many share a slot
            switch (random.nextInt(5)) {
                case 0, 1 -> {
                    map.put(key, i);
                    model.put(key, i);
                }
                case 2, 3 ->
                        assertThat(map.remove(key)).as("seed " + seed).isEqualTo(model.remove(key));
                default -> assertThat(map.get(key)).as("seed " + seed).isEqualTo(model.get(key));
            }
            if (i % 5000 == 0) {
                int third = i;
                map.removeIf(value -> value % 3 == third % 3);
                model.values().removeIf(value -> value % 3 == third % 3);
            }
            assertThat(map.size()).isEqualTo(model.size());
        }
        model.forEach((key, value) -> assertThat(map.get(key)).isEqualTo(value));
    }

    @Test
    void ordersTransactionIdsAsPostgresDoes() {
        assertThat(XidOrder.precedes(3, 4)).isTrue();
        assertThat(XidOrder.precedes(-1, 3)).isTrue();
        assertThat(XidOrder.precedes(3, -1)).isFalse();
        assertThat(XidOrder.precedes(100, 100)).isFalse();
        // the special ids come before every normal one
        assertThat(XidOrder.precedes(2, -5)).isTrue();
        assertThat(XidOrder.precedes(-5, 2)).isFalse();
    }
}
