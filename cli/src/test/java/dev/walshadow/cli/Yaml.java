package dev.walshadow.cli;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/**
 * Reads the part of YAML that the files under {@code ops} use: block mappings and sequences, flow
 * ones of one line, plain and double-quoted scalars, literal blocks, comments. All scalars are
 * text, but those of JSON. Anything else is an error, so that it is either written plainly or
 * found.
 */
final class Yaml {
    private List<String> lines;
    private int at;

    private Yaml(List<String> lines) {
        this.lines = lines;
    }

    static @Nullable Object parse(String text) {
        Yaml yaml = new Yaml(text.lines().toList());
        Object value = yaml.block(0);
        yaml.skip();
        yaml.check(yaml.at == yaml.lines.size(), "the indentation fits nothing");
        return value;
    }

    private void check(boolean holds, String problem) {
        if (!holds) {
            String line = at < lines.size() ? lines.get(at) : "(end)";
            throw new IllegalArgumentException("line " + (at + 1) + ": " + problem + ": " + line);
        }
    }

    private static int indent(String line) {
        return line.length() - line.stripLeading().length();
    }

    /** Goes on to the next line with content. */
    private void skip() {
        while (at < lines.size()) {
            String line = lines.get(at);
            check(line.indexOf('\t') < 0, "a tab");
            if (!line.isBlank() && !line.stripLeading().startsWith("#")) {
                return;
            }
            at++;
        }
    }

    /** What begins at the next line, which is indented by at least so much; null if none is. */
    private @Nullable Object block(int least) {
        skip();
        if (at == lines.size() || indent(lines.get(at)) < least) {
            return null;
        }
        int indent = indent(lines.get(at));
        String first = lines.get(at).strip();
        if (first.startsWith("- ")) {
            return sequence(indent);
        }
        if (key(first) < 0) {
            at++;
            return scalar(first);
        }
        return mapping(indent);
    }

    private List<@Nullable Object> sequence(int indent) {
        List<@Nullable Object> items = new ArrayList<>();
        while (next(indent)) {
            String line = lines.get(at);
            check(line.strip().startsWith("- "), "no item of the sequence");
            String rest = line.strip().substring(2).strip();
            if (key(rest) > 0 && !rest.startsWith("{") && !rest.startsWith("\"")) {
                int inner = line.indexOf(rest);
                lines = replaced(" ".repeat(inner) + rest);
                items.add(mapping(inner));
            } else {
                at++;
                items.add(scalar(rest));
            }
        }
        return items;
    }

    private Map<String, @Nullable Object> mapping(int indent) {
        Map<String, @Nullable Object> entries = new LinkedHashMap<>();
        while (next(indent)) {
            String line = lines.get(at).strip();
            int colon = key(line);
            check(colon > 0, "no key");
            String key = line.substring(0, colon);
            String rest = withoutComment(line.substring(colon + 1).strip());
            check(!entries.containsKey(key), "the key is there twice");
            at++;
            if (rest.equals("|")) {
                entries.put(key, literal(indent));
            } else {
                entries.put(key, rest.isEmpty() ? block(indent + 1) : scalar(rest));
            }
        }
        return entries;
    }

    /** Whether another entry of this indentation follows. */
    private boolean next(int indent) {
        skip();
        if (at == lines.size() || indent(lines.get(at)) < indent) {
            return false;
        }
        check(indent(lines.get(at)) == indent, "wrong indentation");
        return true;
    }

    private List<String> replaced(String line) {
        List<String> changed = new ArrayList<>(lines);
        changed.set(at, line);
        return changed;
    }

    private String literal(int parent) {
        StringBuilder text = new StringBuilder();
        int indent = -1;
        while (at < lines.size() && (lines.get(at).isBlank() || indent(lines.get(at)) > parent)) {
            String line = lines.get(at++);
            if (indent < 0 && !line.isBlank()) {
                indent = indent(line);
            }
            text.append(line.isBlank() ? "" : line.substring(indent)).append('\n');
        }
        return text.toString().stripTrailing() + "\n";
    }

    /** Where a line's key ends; negative if it has none. */
    private static int key(String line) {
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            if (c == ':' && (i + 1 == line.length() || line.charAt(i + 1) == ' ')) {
                return i;
            }
            if (!Character.isLetterOrDigit(c) && "._-/".indexOf(c) < 0) {
                return -1;
            }
        }
        return -1;
    }

    private static String withoutComment(String text) {
        int comment = text.startsWith("#") ? 0 : text.indexOf(" #");
        return comment < 0 || text.startsWith("\"") ? text : text.substring(0, comment).strip();
    }

    private Object scalar(String text) {
        String plain = withoutComment(text);
        if (plain.startsWith("\"") || plain.startsWith("{\"")) {
            return new JsonMapper().readValue(plain, Object.class);
        }
        if (plain.startsWith("[") && plain.endsWith("]")) {
            return flow(plain).stream().map(this::scalar).toList();
        }
        if (plain.startsWith("{") && plain.endsWith("}")) {
            Map<String, Object> entries = new LinkedHashMap<>();
            for (String entry : flow(plain)) {
                int colon = key(entry);
                check(colon > 0, "no key");
                entries.put(entry.substring(0, colon), scalar(entry.substring(colon + 1).strip()));
            }
            return entries;
        }
        check(plain.isEmpty() || "{}[]&*!|>'%@`,?".indexOf(plain.charAt(0)) < 0, "unknown syntax");
        check(!plain.contains(": ") && !plain.endsWith(":"), "a colon in plain text");
        return plain;
    }

    private static List<String> flow(String text) {
        String inside = text.substring(1, text.length() - 1).strip();
        return inside.isEmpty()
                ? List.of()
                : List.of(inside.split(",\\s*(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", -1));
    }
}
