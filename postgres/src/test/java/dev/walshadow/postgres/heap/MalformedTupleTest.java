package dev.walshadow.postgres.heap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Foreign bytes give a typed failure or values inside the tuple, nothing else. */
final class MalformedTupleTest {
    private static final TupleLayout LAYOUT =
            TupleLayout.of(new int[] {4, -1, 1, 8, -2, -1, 2, 64}, "iicdcisc".toCharArray());

    @Test
    void keepsEveryAttributeInsideTheTupleWhateverTheBytes() {
        Random random = new Random(42);
        TupleView tuple = new TupleView();
        AttributeWalker walker = new AttributeWalker(LAYOUT);
        int walked = 0;
        for (int round = 0; round < 500_000; round++) {
            byte[] bytes = new byte[random.nextInt(200)];
            random.nextBytes(bytes);
            if (random.nextBoolean() && bytes.length > HeapTupleLayout.XL_LENGTH) {
                LittleEndian.putShort(bytes, 0, random.nextInt(10));
                LittleEndian.putShort(bytes, 2, random.nextInt(2));
                bytes[HeapTupleLayout.XL_HOFF] = (byte) (random.nextInt(2) * 8 + 24);
            }
            try {
                switch (random.nextInt(3)) {
                    case 0 -> tuple.wrapWal(bytes, 0, bytes.length);
                    case 1 -> tuple.wrapPage(bytes, 0, bytes.length);
                    default -> tuple.wrapMulti(bytes, 0, 0, bytes.length);
                }
                walker.walk(tuple);
            } catch (QuarantineException e) {
                continue;
            }
            walked++;
            for (int i = 0; i < LAYOUT.attributeCount(); i++) {
                if (walker.offset(i) >= 0) {
                    assertThat(walker.offset(i)).isGreaterThanOrEqualTo(tuple.dataOffset());
                    assertThat(walker.offset(i) + walker.length(i))
                            .isLessThanOrEqualTo(tuple.end());
                }
            }
        }
        assertThat(walked).isGreaterThan(100);
    }

    @Test
    void refusesPagesThatAreNoHeapPages() {
        HeapPage page = new HeapPage();
        byte[] bytes = new byte[HeapPage.SIZE];
        assertThat(page.wrap(bytes, 0)).as("an uninitialised page").isFalse();
        assertThat(page.nextNormal(0)).isZero();
        LittleEndian.putShort(bytes, HeapPage.PD_UPPER, 8192);
        assertThatThrownBy(() -> page.wrap(bytes, 0))
                .isInstanceOf(QuarantineException.class)
                .hasMessageContaining("layout version");
        assertThatThrownBy(() -> page.wrap(bytes, 1)).isInstanceOf(QuarantineException.class);
    }

    @Test
    void keepsEveryTupleInsideItsPageWhateverTheBytes() {
        Random random = new Random(43);
        HeapPage page = new HeapPage();
        TupleView tuple = new TupleView();
        int tuples = 0;
        int refused = 0;
        for (int round = 0; round < 2_000; round++) {
            byte[] bytes = new byte[HeapPage.SIZE];
            random.nextBytes(bytes);
            LittleEndian.putShort(bytes, HeapPage.PD_FLAGS, random.nextInt(8));
            LittleEndian.putShort(bytes, HeapPage.PD_LOWER, 24 + random.nextInt(4_000));
            LittleEndian.putShort(bytes, HeapPage.PD_UPPER, 4_000 + random.nextInt(2_000));
            LittleEndian.putShort(bytes, HeapPage.PD_SPECIAL, 8_192 - 8 * random.nextInt(20));
            LittleEndian.putShort(bytes, HeapPage.PD_PAGESIZE_VERSION, 0x2004);
            try {
                assertThat(page.wrap(bytes, 0)).isTrue();
            } catch (QuarantineException e) {
                continue;
            }
            for (int at = page.nextNormal(0); at != 0; at = page.nextNormal(at)) {
                try {
                    page.tuple(at, tuple);
                    assertThat(tuple.end()).isLessThanOrEqualTo(HeapPage.SIZE);
                    tuples++;
                } catch (QuarantineException e) {
                    refused++;
                }
            }
        }
        assertThat(tuples).isPositive();
        assertThat(refused).isGreaterThan(100);
    }
}
