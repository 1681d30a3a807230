package dev.walshadow.systemtests.schema;

import java.util.ArrayList;
import java.util.List;

/** Identifiers of every kind, as tables, columns, new ones and after a rename. */
final class NameCases {
    private static final List<String> NAMES =
            List.of(
                    "with space",
                    "with.dot",
                    "with\"\"quote",
                    "with'apostrophe",
                    "with`backtick",
                    "with\\backslash",
                    "with{brace}:x",
                    "UPPER and lower",
                    "select",
                    "Größe 数量 😀",
                    "n234567890123456789012345678901234567890123456789012345678901_63",
                    "-- ; /* %s $1 ?",
                    " leading and trailing ",
                    "tab\tand\nnewline",
                    "1");

    private NameCases() {}

    static List<SchemaCase> cases() {
        List<SchemaCase> cases = new ArrayList<>();
        for (int i = 0; i < NAMES.size(); i++) {
            cases.add(named(i, "\"" + NAMES.get(i) + "\""));
        }
        cases.add(
                SchemaCase.of("columns named as walshadow's own")
                        .oddNames()
                        .before(
                                "CREATE TABLE t (id int PRIMARY KEY, _version text, _is_deleted"
                                    + " int, _commit_ts text, _xid text, _commit_lsn int, _lsn int,"
                                    + " _tid int, _leaf int)",
                                "INSERT INTO t SELECT i, 'v', i, 'c', 'x', 1, 2, 3, 4 FROM"
                                        + " generate_series(1, 10) i")
                        .during("UPDATE t SET _is_deleted = 1, _version = 'w' WHERE id % 2 = 0")
                        .during("DELETE FROM t WHERE id % 3 = 0")
                        .during("ALTER TABLE t RENAME COLUMN _version TO version"));
        cases.add(
                SchemaCase.onTable("a column is renamed to one of walshadow's own")
                        .oddNames()
                        .during("ALTER TABLE t RENAME COLUMN v TO _version")
                        .during("ALTER TABLE t ADD COLUMN _is_deleted int DEFAULT 1")
                        .during("UPDATE t SET _version = 'x' WHERE id % 2 = 0"));
        cases.add(
                SchemaCase.of("names that differ in case only")
                        .before(
                                "CREATE TABLE t (id int PRIMARY KEY, a int, \"A\" int)",
                                "CREATE TABLE \"T\" (id int PRIMARY KEY, b text)",
                                "INSERT INTO t VALUES (1, 2, 3)",
                                "INSERT INTO \"T\" VALUES (1, 'upper')")
                        .during("UPDATE t SET \"A\" = 9", "INSERT INTO \"T\" VALUES (2, 'two')")
                        .transaction(
                                "ALTER TABLE t RENAME COLUMN a TO passing",
                                "ALTER TABLE t RENAME COLUMN \"A\" TO a",
                                "ALTER TABLE t RENAME COLUMN passing TO \"A\""));
        return cases;
    }

    private static SchemaCase named(int number, String quoted) {
        return SchemaCase.of("identifier " + number)
                .oddNames()
                .before(
                        "CREATE TABLE %s (%s int PRIMARY KEY, v text)".formatted(quoted, quoted),
                        "INSERT INTO %s SELECT i, 'v' FROM generate_series(1, 5) i"
                                .formatted(quoted),
                        "CREATE TABLE plain (id int PRIMARY KEY, v text)",
                        "INSERT INTO plain SELECT i, 'v' FROM generate_series(1, 5) i")
                .during(
                        "UPDATE %s SET v = 'w' WHERE %s = 2".formatted(quoted, quoted),
                        "DELETE FROM %s WHERE %s = 3".formatted(quoted, quoted),
                        "CREATE SCHEMA \"$S_x_%s\"".formatted(number),
                        "CREATE TABLE \"$S_x_%s\".%s (id int PRIMARY KEY, %s text)"
                                .formatted(number, quoted, quoted),
                        "INSERT INTO \"$S_x_%s\".%s VALUES (1, 'one')".formatted(number, quoted),
                        "ALTER TABLE plain RENAME COLUMN v TO " + quoted,
                        "ALTER TABLE plain ADD COLUMN w int DEFAULT 2",
                        "UPDATE plain SET %s = 'x' WHERE id = 2".formatted(quoted));
    }
}
