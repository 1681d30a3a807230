package dev.walshadow.systemtests.schema;

import java.util.ArrayList;
import java.util.List;

/**
 * A change of shape that is tried in every surrounding: alone, in a transaction with rows around
 * it, again after a rollback to a savepoint, and rolled back. Row statements of either side are
 * such that they can run more than once.
 */
final class Change {
    private final String name;
    private final List<String> statements;
    private final List<String> before = new ArrayList<>(List.of(Rows.TABLE, Rows.FILL));
    private List<String> rowsBefore = Rows.ALL;
    private List<String> rowsAfter = Rows.ALL;
    private int since = 15;

    private Change(String name, List<String> statements) {
        this.name = name;
        this.statements = statements;
    }

    static Change of(String name, String... statements) {
        return new Change(name, List.of(statements));
    }

    /** Instead of the table {@code t} of {@link Rows#TABLE}. */
    Change instead(String... setup) {
        before.clear();
        before.addAll(List.of(setup));
        return this;
    }

    /** In addition to it. */
    Change also(String... setup) {
        before.addAll(List.of(setup));
        return this;
    }

    /** What writes rows before the change, and after it is undone. */
    Change rowsBefore(String... rows) {
        rowsBefore = List.of(rows);
        return this;
    }

    /** What writes rows after the change. */
    Change rowsAfter(String... rows) {
        rowsAfter = List.of(rows);
        return this;
    }

    /** What writes rows before and after. */
    Change rows(String... rows) {
        return rowsBefore(rows).rowsAfter(rows);
    }

    Change since(int major) {
        since = major;
        return this;
    }

    List<SchemaCase> cases() {
        SchemaCase alone = surrounding("").during(rowsBefore).during(statements).during(rowsAfter);
        SchemaCase transaction =
                surrounding(", with rows around it in its transaction")
                        .during("BEGIN")
                        .during(rowsBefore)
                        .during(statements)
                        .during(rowsAfter)
                        .during("COMMIT")
                        .during(rowsAfter);
        SchemaCase savepoint =
                surrounding(", again after a rollback to a savepoint")
                        .during("BEGIN")
                        .during(rowsBefore)
                        .during("SAVEPOINT first")
                        .during(statements)
                        .during(rowsAfter)
                        .during("ROLLBACK TO first")
                        .during(rowsBefore)
                        .during("SAVEPOINT second")
                        .during(statements)
                        .during("RELEASE second")
                        .during(rowsAfter)
                        .during("COMMIT")
                        .during(rowsAfter);
        SchemaCase undone =
                surrounding(", rolled back")
                        .during("BEGIN")
                        .during(rowsBefore)
                        .during(statements)
                        .during(rowsAfter)
                        .during("ROLLBACK")
                        .during(rowsBefore);
        return List.of(alone, transaction, savepoint, undone);
    }

    private SchemaCase surrounding(String which) {
        return SchemaCase.of(name + which).before(before.toArray(new String[0])).since(since);
    }
}
