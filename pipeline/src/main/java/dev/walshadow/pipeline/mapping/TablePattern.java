package dev.walshadow.pipeline.mapping;

import dev.walshadow.catalog.RelationName;
import java.util.regex.Pattern;

/**
 * A pattern of table names: {@code schema.table} or {@code table} (any schema), with several
 * databases also {@code database.schema.table}, {@code *} matching any run of characters.
 *
 * @param namesDatabase it can be a name with a database
 */
public record TablePattern(String text, Pattern pattern, boolean namesDatabase) {
    public static TablePattern of(String text) {
        StringBuilder regex = new StringBuilder(text.contains(".") ? "" : "[^.]*\\.");
        for (String literal : text.split("(?<=\\*)|(?=\\*)", -1)) {
            regex.append(literal.equals("*") ? ".*" : Pattern.quote(literal));
        }
        return new TablePattern(
                text,
                Pattern.compile(regex.toString(), Pattern.DOTALL),
                text.chars().filter(c -> c == '.').count() >= 2);
    }

    public boolean matches(RelationName name) {
        return pattern.matcher(name.in("").toString()).matches()
                || (namesDatabase
                        && !name.database().isEmpty()
                        && pattern.matcher(name.toString()).matches());
    }

    /** Whether it can match more than one name. */
    public boolean hasWildcard() {
        return text.contains("*");
    }
}
