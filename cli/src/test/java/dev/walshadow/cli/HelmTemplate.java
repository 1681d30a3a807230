package dev.walshadow.cli;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/**
 * Fills in the chart's templates: names of values, of the release and of the chart, {@code quote},
 * {@code default}, {@code indent}, {@code toYaml | nindent}, and {@code if} by lines. Anything else
 * is an error.
 */
final class HelmTemplate {
    private static final Pattern PLACE = Pattern.compile("\\{\\{-? ?(.+?) ?-?}}");
    private final Map<String, @Nullable Object> root;

    /**
     * @param root {@code Values}, {@code Release}, {@code Chart}
     */
    HelmTemplate(Map<String, @Nullable Object> root) {
        this.root = root;
    }

    String render(String template) {
        StringBuilder text = new StringBuilder();
        Deque<Boolean> open = new ArrayDeque<>();
        for (String line : template.lines().toList()) {
            String control = line.strip();
            if (control.matches("\\{\\{- if .*}}")) {
                String condition = control.substring("{{- if ".length(), control.length() - 2);
                boolean negated = condition.strip().startsWith("not ");
                String path = condition.replaceFirst("^ *not ", "").strip();
                open.push(isTrue(value(path)) != negated);
            } else if (control.equals("{{- end }}")) {
                open.pop();
            } else if (!open.contains(false)) {
                text.append(fill(line)).append('\n');
            }
        }
        if (!open.isEmpty()) {
            throw new IllegalArgumentException("an if without its end");
        }
        return text.toString();
    }

    private String fill(String line) {
        Matcher place = PLACE.matcher(line);
        StringBuilder filled = new StringBuilder();
        while (place.find()) {
            place.appendReplacement(filled, Matcher.quoteReplacement(expression(place.group(1))));
        }
        return place.appendTail(filled).toString();
    }

    private String expression(String text) {
        List<String> steps = new ArrayList<>(List.of(text.split(" \\| ", -1)));
        String first = steps.removeFirst();
        boolean yaml = first.startsWith("toYaml ");
        Object value = value(yaml ? first.substring("toYaml ".length()) : first);
        if (yaml) {
            // JSON is YAML
            value = new JsonMapper().writeValueAsString(value);
        }
        for (String step : steps) {
            String[] words = step.split(" ", -1);
            value =
                    switch (words[0]) {
                        case "quote" -> new JsonMapper().writeValueAsString(value);
                        case "default" -> isTrue(value) ? value : value(words[1]);
                        case "nindent" -> "\n" + indented(String.valueOf(value), words[1]);
                        case "indent" -> indented(String.valueOf(value), words[1]);
                        default -> throw new IllegalArgumentException("unknown: " + step);
                    };
        }
        return String.valueOf(value);
    }

    private static String indented(String text, String spaces) {
        String before = " ".repeat(Integer.parseInt(spaces));
        return text.lines().map(line -> before + line).collect(Collectors.joining("\n"));
    }

    /** As in the template language: not empty. */
    private static boolean isTrue(@Nullable Object value) {
        return value != null && !value.equals("") && !value.equals("false");
    }

    private @Nullable Object value(String path) {
        Object value = root;
        for (String name : path.substring(1).split("\\.", -1)) {
            if (!(value instanceof Map<?, ?> map) || !map.containsKey(name)) {
                throw new IllegalArgumentException("values.yaml has no " + path);
            }
            value = map.get(name);
        }
        return value;
    }
}
