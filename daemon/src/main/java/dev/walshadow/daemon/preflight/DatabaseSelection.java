package dev.walshadow.daemon.preflight;

import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.shadow.DatabaseInfo;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Which databases of the cluster are followed: those that {@code [source] databases} names, {@code
 * *} matching any run of characters; without it the one of {@code [source] url}, whatever it is
 * called later. {@code template0}, databases that allow no connections and those whose DROP was
 * interrupted never are; {@code template1} only if it is named without a wildcard, since a session
 * in it keeps others from cloning it.
 */
public final class DatabaseSelection {
    private static final String NEVER = "template0";
    private static final Set<String> TEMPLATES = Set.of("template1");

    private final List<String> entries;
    private final List<Pattern> patterns;
    private final String only;

    /**
     * @param entries names, with {@code *} as wildcard
     * @param only the one that is followed if there are none
     */
    public DatabaseSelection(List<String> entries, String only) {
        this.entries = List.copyOf(entries);
        this.patterns = entries.stream().map(DatabaseSelection::compile).toList();
        this.only = only;
    }

    /**
     * @param connected the database of {@code [source] url}
     */
    public static DatabaseSelection of(Configuration configuration, String connected) {
        return new DatabaseSelection(configuration.get(Settings.SOURCE_DATABASES), connected);
    }

    private static Pattern compile(String entry) {
        StringBuilder regex = new StringBuilder();
        for (String literal : entry.split("(?<=\\*)|(?=\\*)", -1)) {
            regex.append(literal.equals("*") ? ".*" : Pattern.quote(literal));
        }
        return Pattern.compile(regex.toString(), Pattern.DOTALL);
    }

    /**
     * Whether names have their database: there is more than one, or may be one day. Does not depend
     * on how many there are now.
     */
    public boolean several() {
        return entries.size() > 1 || entries.stream().anyMatch(entry -> entry.contains("*"));
    }

    /** Whether a database of this name is followed; never changes for the one of the url. */
    public boolean matches(String name) {
        if (entries.isEmpty()) {
            return name.equals(only);
        }
        if (name.equals(NEVER) || (TEMPLATES.contains(name) && !entries.contains(name))) {
            return false;
        }
        return patterns.stream().anyMatch(pattern -> pattern.matcher(name).matches());
    }

    /** Whether it is selected by exactly its name. */
    public boolean names(String name) {
        return entries.isEmpty() ? name.equals(only) : entries.contains(name);
    }

    /**
     * What cannot be followed although it is named, a line each. A wildcard may match one day.
     *
     * @param databases of the source
     */
    public List<String> problems(Collection<DatabaseInfo> databases) {
        List<String> problems = new ArrayList<>();
        for (String entry : entries.isEmpty() ? List.of(only) : entries) {
            List<DatabaseInfo> named =
                    databases.stream()
                            .filter(each -> compile(entry).matcher(each.name()).matches())
                            .toList();
            if (entry.equals(NEVER)) {
                problems.add("template0 is never followed: it allows no connections");
            } else if (!entry.contains("*") && named.isEmpty()) {
                problems.add(
                        "the source has no database "
                                + entry
                                + ", or its DROP was interrupted; create it, or take it out");
            } else if (!entry.contains("*") && !named.getFirst().allowsConnections()) {
                problems.add(
                        "the database "
                                + entry
                                + " allows no connections, so it cannot be followed; run ALTER"
                                + " DATABASE ... ALLOW_CONNECTIONS true, or take it out");
            }
        }
        return problems;
    }
}
