package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.NullableColumn;
import dev.walshadow.clickhouse.StringColumn;
import dev.walshadow.pipeline.encode.OldValues;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.Conversion;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.pipeline.mapping.Transform;
import dev.walshadow.pipeline.mapping.TransformedText;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The last resort: asks the source for what ClickHouse does not have, by the very row version that
 * lacks it. A row found by its key could be another one, or a later version. Serves columns that
 * arrive as String.
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

    /** Whether a row that the source no longer has is a superseded one. */
    boolean canServe() {
        if (services.lookup() == null || mapping.filter() != null) {
            return false;
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

    /** The values of those row versions that the source still has. */
    Map<SourceLookup.Place, OldValues> ask(Iterable<SourceLookup.Place> places)
            throws InterruptedException {
        Map<SourceLookup.Place, OldValues> found = new HashMap<>();
        SourceLookup lookup = services.lookup();
        if (lookup == null || !canServe()) {
            return found;
        }
        for (SourceLookup.Place place : places) {
            OldValues answer = ask(lookup, place);
            if (answer != null) {
                found.put(place, answer);
            }
            services.metrics().sourceLookups.increment();
        }
        return found;
    }

    private @Nullable OldValues ask(SourceLookup lookup, SourceLookup.Place place)
            throws InterruptedException {
        List<Integer> numbers = new ArrayList<>();
        for (int column : columns) {
            numbers.add(mapping.columns().get(column).attributeNumber());
        }
        List<@Nullable String> texts = lookup.select(table.shape(), place, numbers);
        if (texts == null) {
            return null;
        }
        byte[][] values = new byte[columns.length][];
        ByteBuilder out = new ByteBuilder(256);
        for (int i = 0; i < columns.length; i++) {
            out.clear();
            String text = transformed(columns[i], texts.get(i));
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
}
