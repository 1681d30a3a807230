package dev.walshadow.pipeline.mapping;

import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.Ddl;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Whether a mapping's blocks can be inserted into an existing table and mean the same there. */
final class ShapeComparison {
    private ShapeComparison() {}

    static List<String> differences(TableMapping mapping, TableShape existing) {
        List<String> found = new ArrayList<>();
        engine(mapping, existing, found);
        order(mapping, existing, found);
        Map<String, TableShape.Column> columns = new HashMap<>();
        existing.columns().forEach(column -> columns.put(column.name(), column));
        List<String> names = mapping.blockNames();
        List<ClickHouseType> types = mapping.blockTypes();
        for (int i = 0; i < names.size(); i++) {
            column(mapping, names.get(i), types.get(i), columns.get(names.get(i)), found);
        }
        return found;
    }

    private static void engine(TableMapping mapping, TableShape existing, List<String> found) {
        String version = mapping.meta().version();
        String wanted =
                mapping.append()
                        ? ""
                        : String.format(
                                Locale.ROOT, "(%s, %s)", version, mapping.meta().isDeleted());
        boolean fits =
                mapping.append()
                        ? !hasParameter(existing.engineFull(), version)
                        : existing.engineFull().contains(wanted.substring(1));
        if (!existing.engine().endsWith("ReplacingMergeTree") || !fits) {
            found.add(
                    String.format(
                            Locale.ROOT,
                            "%s: expected the engine ReplacingMergeTree%s, found %s",
                            mapping.target(),
                            wanted,
                            existing.engineFull()));
        }
    }

    /** Among what stands in the engine's parentheses. */
    private static boolean hasParameter(String engineFull, String version) {
        return engineFull.split(" PARTITION BY | PRIMARY KEY | ORDER BY ", 2)[0].contains(version);
    }

    private static void order(TableMapping mapping, TableShape existing, List<String> differences) {
        String wanted =
                String.join(
                        ", ", mapping.orderNames().stream().map(Ddl::identifierIfNeeded).toList());
        String found = existing.sortingKey();
        boolean enclosed = found.startsWith("(") && found.endsWith(")");
        if (!wanted.equals(enclosed ? found.substring(1, found.length() - 1) : found)) {
            differences.add(
                    String.format(
                            Locale.ROOT,
                            "%s: expected ORDER BY (%s), found (%s)",
                            mapping.target(),
                            wanted,
                            existing.sortingKey()));
        }
    }

    private static void column(
            TableMapping mapping,
            String name,
            ClickHouseType wanted,
            TableShape.@Nullable Column there,
            List<String> found) {
        String problem = null;
        if (there == null) {
            problem = "no such column";
        } else if (there.defaultKind().equals("ALIAS")
                || there.defaultKind().equals("MATERIALIZED")) {
            problem = there.defaultKind() + " column";
        } else if (!there.type().equals(wanted.print())) {
            problem = there.type();
        }
        if (problem != null) {
            found.add(
                    String.format(
                            Locale.ROOT,
                            "%s: expected column %s of type %s, found %s",
                            mapping.target(),
                            name,
                            wanted.print(),
                            problem));
        }
    }
}
