package dev.walshadow.systemtests.schema;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** The whole table, and which of it is known not to work yet. */
final class SchemaCases {
    /** One case per line, {@code name # reason}. Nothing else excuses a case. */
    static final String PENDING = "pending-schema-cases.txt";

    private SchemaCases() {}

    /** All cases that this major knows. */
    static List<SchemaCase> of(int major) {
        List<SchemaCase> cases = all();
        cases.removeIf(each -> each.since() > major);
        return cases;
    }

    private static List<SchemaCase> all() {
        List<Change> changes = new ArrayList<>();
        changes.addAll(ColumnChanges.all());
        changes.addAll(ColumnChanges.types());
        changes.addAll(KeyChanges.all());
        changes.addAll(StorageCases.changes());
        changes.addAll(TableCases.changes());
        changes.addAll(TypeCases.changes());
        changes.addAll(PartitionCases.changes());
        List<SchemaCase> cases = new ArrayList<>();
        changes.forEach(change -> cases.addAll(change.cases()));
        cases.addAll(KeyChanges.cases());
        cases.addAll(KeyChanges.keyless());
        cases.addAll(StorageCases.cases());
        cases.addAll(TableCases.cases());
        cases.addAll(TableCases.mixed());
        cases.addAll(TypeCases.cases());
        cases.addAll(PartitionCases.cases());
        cases.addAll(NameCases.cases());
        requireDistinct(cases);
        return cases;
    }

    private static void requireDistinct(List<SchemaCase> cases) {
        Set<String> names = new HashSet<>();
        for (SchemaCase each : cases) {
            if (!names.add(each.name()) || !names.add(each.schema())) {
                throw new IllegalStateException("two cases are called " + each.name());
            }
        }
    }

    /** Case name to reason. */
    static Map<String, String> pending() {
        Set<String> known = new HashSet<>();
        all().forEach(each -> known.add(each.name()));
        Map<String, String> pending = new LinkedHashMap<>();
        try (InputStream file =
                Objects.requireNonNull(
                        SchemaCases.class.getClassLoader().getResourceAsStream(PENDING), PENDING)) {
            String text = new String(file.readAllBytes(), StandardCharsets.UTF_8);
            for (String line : text.lines().toList()) {
                int mark = line.indexOf(" # ");
                if (line.isBlank() || line.startsWith("#")) {
                    continue;
                }
                if (mark < 0 || !known.contains(line.substring(0, mark))) {
                    throw new IllegalStateException(PENDING + " names no case: " + line);
                }
                pending.put(line.substring(0, mark), line.substring(mark + 3));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return pending;
    }
}
