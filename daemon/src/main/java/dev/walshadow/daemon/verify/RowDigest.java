package dev.walshadow.daemon.verify;

import dev.walshadow.base.ByteBuilder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import net.jpountz.xxhash.XXHash64;
import net.jpountz.xxhash.XXHashFactory;
import org.jspecify.annotations.Nullable;

/**
 * 128 bits of a row's key (of the whole row, where there is no key) and 64 bits of the whole row,
 * over canonical texts. Not thread safe.
 */
final class RowDigest {
    private static final XXHash64 HASH = XXHashFactory.fastestJavaInstance().hash64();
    private static final long FIRST_SEED = 0x5741_4C53L;
    private static final long SECOND_SEED = 0x4841_444FL;

    private final List<ComparedTable.Column> columns;
    private final boolean keyless;
    private final ByteBuilder bytes = new ByteBuilder(1024);
    private final ByteBuilder keyBytes = new ByteBuilder(128);

    long keyHigh;
    long keyLow;
    long row;

    RowDigest(ComparedTable table) {
        this.columns = table.columns();
        this.keyless = table.keyless();
    }

    void compute(List<@Nullable String> values) {
        bytes.clear();
        keyBytes.clear();
        for (int i = 0; i < values.size(); i++) {
            String value = values.get(i);
            append(bytes, value);
            if (keyless || columns.get(i).key()) {
                append(keyBytes, value);
            }
        }
        keyHigh = HASH.hash(keyBytes.array(), 0, keyBytes.length(), FIRST_SEED);
        keyLow = HASH.hash(keyBytes.array(), 0, keyBytes.length(), SECOND_SEED);
        row = HASH.hash(bytes.array(), 0, bytes.length(), FIRST_SEED);
    }

    private static void append(ByteBuilder into, @Nullable String value) {
        if (value == null) {
            into.putInt(-1);
        } else {
            byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
            into.putInt(utf8.length);
            into.putBytes(utf8);
        }
    }
}
