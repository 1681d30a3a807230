package dev.walshadow.daemon.monitor;

import dev.walshadow.postgres.Lsn;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.BooleanNode;

/**
 * One metric and where its value is in the status object.
 *
 * @param name as Prometheus shows it; a counter's ends in {@code _total}
 * @param each pointer to an array with an element per series, or to one object; empty: the root
 * @param value pointer inside an element; empty: the series is 1 while the element is there
 * @param labels label to its pointer inside an element; pointer {@code *} is the value's key, of
 *     which each gives a series
 */
record Metric(String name, String help, String each, String value, Map<String, String> labels) {
    static final String ENTRY = "*";

    private static final String TOTAL = "_total";

    static Metric of(String name, String pointer, String help) {
        return new Metric(name, help, "", pointer, Map.of());
    }

    static Metric each(String name, String each, String value, String help, String... labels) {
        Map<String, String> pointers = new LinkedHashMap<>();
        for (int i = 0; i < labels.length; i += 2) {
            pointers.put(labels[i], labels[i + 1]);
        }
        return new Metric(name, help, each, value, pointers);
    }

    private boolean isCounter() {
        return name.endsWith(TOTAL);
    }

    /** Null: the status has no value of it. */
    @Nullable MetricSnapshot read(JsonNode status) {
        Series series = new Series();
        JsonNode from = status.at(each);
        if (from.isArray()) {
            from.forEach(element -> read(element, series));
        } else if (!from.isMissingNode()) {
            read(from, series);
        }
        return series.build();
    }

    private void read(JsonNode element, Series series) {
        if (!labels.containsValue(ENTRY)) {
            series.add(element, number(value.isEmpty() ? BooleanNode.TRUE : element.at(value)), "");
            return;
        }
        for (Map.Entry<String, JsonNode> entry : element.at(value).properties()) {
            series.add(element, number(entry.getValue()), entry.getKey());
        }
    }

    private static @Nullable Double number(JsonNode node) {
        if (node.isBoolean()) {
            return node.asBoolean() ? 1.0 : 0.0;
        }
        if (node.isString()) {
            return (double) Lsn.parse(node.asString());
        }
        return node.isNumber() ? node.asDouble() : null;
    }

    /** A dropped table and its successor have one name, so their counts are added. */
    private final class Series {
        private final Map<Labels, Double> numbers = new LinkedHashMap<>();

        void add(JsonNode element, @Nullable Double number, String entry) {
            Labels.Builder named = Labels.builder();
            for (Map.Entry<String, String> label : labels.entrySet()) {
                boolean isEntry = label.getValue().equals(ENTRY);
                JsonNode text = element.at(isEntry ? "" : label.getValue());
                if (!isEntry && !text.isString()) {
                    return;
                }
                named.label(label.getKey(), isEntry ? entry : text.asString());
            }
            if (number != null) {
                numbers.merge(named.build(), number, isCounter() ? Double::sum : Math::max);
            }
        }

        @Nullable MetricSnapshot build() {
            if (numbers.isEmpty()) {
                return null;
            }
            return isCounter() ? counter() : gauge();
        }

        private MetricSnapshot counter() {
            CounterSnapshot.Builder into =
                    CounterSnapshot.builder()
                            .name(name.substring(0, name.length() - TOTAL.length()))
                            .help(help);
            numbers.forEach((named, number) ->
                    into.dataPoint(
                            CounterDataPointSnapshot.builder()
                                    .labels(named)
                                    .value(number)
                                    .build()));
            return into.build();
        }

        private MetricSnapshot gauge() {
            GaugeSnapshot.Builder into = GaugeSnapshot.builder().name(name).help(help);
            numbers.forEach((named, number) ->
                    into.dataPoint(
                            GaugeDataPointSnapshot.builder().labels(named).value(number).build()));
            return into.build();
        }
    }
}
