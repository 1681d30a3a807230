package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.NullableColumn;
import dev.walshadow.clickhouse.StringColumn;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.Conversion;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.pipeline.mapping.Transform;
import dev.walshadow.pipeline.mapping.TransformedText;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The last resort: asks the source for what ClickHouse does not have. Serves columns that arrive as
 * String; the others stay missing. A key that the source no longer has gets defaults: its deletion
 * comes later in the WAL. Of a table without a key only the very row version that asks is of use:
 * if it is gone, another may have its value, so it stays missing.
 */
final class OldValueSource {
    private final Services services;
    private final TargetTable table;
    private final TableMapping mapping;
    private final int[] columns;
    private final DefaultValues defaults;

    OldValueSource(Services services, TargetTable table, int[] columns) {
        this.services = services;
        this.table = table;
        this.mapping = table.mapped();
        this.columns = columns;
        this.defaults = new DefaultValues(mapping);
    }

    /** Adds a version for each needed key that has none below its row. */
    void complete(Map<String, WantedKey> keys, Map<String, PreviousVersion> versions)
            throws InterruptedException {
        SourceLookup lookup = services.lookup();
        if (lookup == null || !canServe()) {
            return;
        }
        for (Map.Entry<String, WantedKey> entry : keys.entrySet()) {
            WantedKey wanted = entry.getValue();
            PreviousVersion known = versions.get(entry.getKey());
            boolean lacking =
                    known == null
                            || (known.isDeleted() && known.isBelow(wanted.high(), wanted.low()));
            if (wanted.needed() && lacking) {
                PreviousVersion answer = ask(lookup, wanted);
                if (answer != null) {
                    versions.put(entry.getKey(), answer);
                }
                services.metrics().sourceLookups.increment();
            }
        }
    }

    private boolean canServe() {
        for (int number : mapping.key()) {
            if (mapping.column(number).transform() != null) {
                return false; // the source knows no such key
            }
        }
        for (int column : columns) {
            ColumnMapping mapped = mapping.columns().get(column);
            boolean text =
                    switch (mapped.conversion()) {
                        case BYTES, CHARACTERS, NAME, TEXT -> true;
                        default -> false;
                    };
            if (!text || mapped.dimensions() != 0) {
                return false;
            }
        }
        return true;
    }

    /** What the source answers counts as a version from before everything. */
    private @Nullable PreviousVersion ask(SourceLookup lookup, WantedKey wanted)
            throws InterruptedException {
        List<Integer> numbers = new ArrayList<>();
        for (int column : columns) {
            numbers.add(mapping.columns().get(column).attributeNumber());
        }
        SourceLookup.Row row =
                mapping.isKeyless()
                        ? new SourceLookup.Place(wanted.tid(), wanted.xid())
                        : new SourceLookup.Key(mapping.key(), keyTexts(wanted));
        List<@Nullable String> texts = lookup.select(table.shape(), row, numbers);
        if (texts == null && mapping.isKeyless()) {
            return null;
        }
        byte[][] values = new byte[columns.length][];
        ByteBuilder out = new ByteBuilder(256);
        for (int i = 0; i < columns.length; i++) {
            out.clear();
            String text = texts == null ? null : transformed(columns[i], texts.get(i));
            if (text == null) {
                defaults.append(columns[i], out);
            } else {
                rowBinary(columns[i], text, out);
            }
            values[i] = out.toByteArray();
        }
        return new PreviousVersion(0, 0, false, columns, values);
    }

    private @Nullable String transformed(int column, @Nullable String text) {
        Transform transform = mapping.columns().get(column).transform();
        return transform == null ? text : new TransformedText(transform).of(text);
    }

    private void rowBinary(int column, String text, ByteBuilder out) {
        byte[] bytes =
                mapping.columns().get(column).conversion() == Conversion.BYTES
                                && text.startsWith("\\x")
                        ? HexFormat.of().parseHex(text, 2, text.length())
                        : text.getBytes(StandardCharsets.UTF_8);
        ColumnBuffer one = ColumnBuffer.of(mapping.blockTypes().get(column));
        ColumnBuffer inner = one;
        if (one instanceof NullableColumn nullable) {
            nullable.present();
            inner = nullable.inner();
        }
        ((StringColumn) inner).append(bytes, 0, bytes.length);
        one.rowBinary(0, out);
    }

    /** ClickHouse prints the key's literals; PostgreSQL reads these texts back. */
    private List<String> keyTexts(WantedKey wanted) throws InterruptedException {
        List<String> parts = new ArrayList<>();
        int count = mapping.key().size();
        for (int i = 1; i <= count; i++) {
            parts.add(
                    count == 1
                            ? "toString(" + wanted.literal() + ")"
                            : "toString(tupleElement(" + wanted.literal() + ", " + i + "))");
        }
        String sql = "SELECT " + String.join(", ", parts);
        List<String> texts = new ArrayList<>();
        services.reachability()
                .until(
                        table,
                        () -> {
                            texts.clear();
                            for (String text : services.client().query(sql).getFirst()) {
                                texts.add(Objects.requireNonNull(text, "keys are not NULL"));
                            }
                        });
        return texts;
    }
}
