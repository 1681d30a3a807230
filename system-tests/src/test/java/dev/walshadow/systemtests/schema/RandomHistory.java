package dev.walshadow.systemtests.schema;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;

/**
 * A seeded sequence of statements over a handful of tables: rows come, change and go while tables
 * are created, altered, rewritten, renamed, moved between two schemas, dropped and made again under
 * their names, and while indexes, identities and the system's catalogs change, in transactions,
 * with savepoints that are rolled back. Every statement succeeds.
 */
final class RandomHistory {
    /** Behind a history's schema: its other one, for tables that are elsewhere for a while. */
    static final String ELSEWHERE = "_elsewhere";

    private static final int MOST_TABLES = 6;
    private static final List<String> CATALOGS =
            List.of("pg_class", "pg_attribute", "pg_index", "pg_type", "pg_depend");
    private static final List<String> TYPES =
            List.of(
                    "int",
                    "bigint",
                    "text",
                    "numeric(10,2)",
                    "timestamptz",
                    "date",
                    "boolean",
                    "double precision",
                    "varchar(20)",
                    "jsonb",
                    "int[]");

    /** What the generator knows of a table: its columns beside {@code id}, and their types. */
    private static final class Table {
        final Map<String, String> columns = new LinkedHashMap<>();
        boolean hasKey;

        /** Of the primary key's constraint and index, as long as there is one. */
        String keyName = "";

        /** A unique index of {@code id}; empty if there is none. */
        String uniqueIndex = "";

        int nextColumn;
        int lastId;

        String type(String column) {
            return Objects.requireNonNull(columns.get(column));
        }

        String someColumn(SplittableRandom random) {
            return columns.keySet().stream()
                    .skip(random.nextInt(columns.size()))
                    .findFirst()
                    .orElseThrow();
        }
    }

    private final SplittableRandom random;
    private final String schema;
    private final Map<String, Table> tables = new LinkedHashMap<>();
    private final List<String> statements = new ArrayList<>();
    private int tableNumber;
    private int keyNumber;

    /** Of tables that were dropped. */
    private final List<String> freeNames = new ArrayList<>();

    private boolean inTransaction;

    private RandomHistory(long seed, String schema) {
        this.random = new SplittableRandom(seed);
        this.schema = schema;
    }

    /** So many steps in a schema that the first statement creates. */
    static List<String> of(long seed, String schema, int steps) {
        RandomHistory history = new RandomHistory(seed, schema);
        history.add("CREATE SCHEMA " + schema);
        history.add("CREATE SCHEMA " + schema + ELSEWHERE);
        for (int i = 0; i < steps; i++) {
            history.step();
        }
        return history.statements;
    }

    private void add(String statement) {
        statements.add(statement);
    }

    private int chance() {
        return random.nextInt(100);
    }

    private void step() {
        if (tables.isEmpty() || (tables.size() < MOST_TABLES && chance() < 15)) {
            create();
            return;
        }
        String name =
                tables.keySet().stream()
                        .skip(random.nextInt(tables.size()))
                        .findFirst()
                        .orElseThrow();
        Table table = Objects.requireNonNull(tables.get(name));
        int what = chance();
        if (what < 42) {
            rows(name, table, what);
        } else if (what < 70) {
            columns(name, table, what);
        } else if (what < 75) {
            indexes(name, table);
        } else if (what < 79) {
            elsewhere(name, table);
        } else if (what < 94) {
            wholeTable(name, table);
        } else if (!inTransaction) {
            transaction(name, table);
        }
    }

    private void create() {
        String name =
                freeNames.isEmpty() || chance() < 50
                        ? schema + ".t" + ++tableNumber
                        : freeNames.removeLast();
        Table table = new Table();
        table.hasKey = chance() < 80;
        StringBuilder sql = new StringBuilder("CREATE TABLE " + name + " (id int");
        if (table.hasKey) {
            sql.append(" CONSTRAINT ").append(newKeyName(table)).append(" PRIMARY KEY");
        }
        for (int i = random.nextInt(1, 5); i > 0; i--) {
            String column = "c" + table.nextColumn++;
            String type = TYPES.get(random.nextInt(TYPES.size()));
            table.columns.put(column, type);
            sql.append(", ").append(column).append(' ').append(type);
        }
        add(sql.append(')').toString());
        tables.put(name, table);
        insert(name, table);
    }

    private void rows(String name, Table table, int what) {
        if (what < 25 || table.columns.isEmpty()) {
            insert(name, table);
        } else if (what < 35) {
            String column = table.someColumn(random);
            add(
                    "UPDATE %s SET %s = %s WHERE id %% %d = 0"
                            .formatted(
                                    name,
                                    column,
                                    literal(table.type(column)),
                                    random.nextInt(2, 6)));
        } else {
            add("DELETE FROM %s WHERE id %% %d = 1".formatted(name, random.nextInt(3, 8)));
        }
    }

    private String newKeyName(Table table) {
        table.keyName = "k" + ++keyNumber;
        return table.keyName;
    }

    private void insert(String name, Table table) {
        for (int i = random.nextInt(1, 20); i > 0; i--) {
            StringBuilder values = new StringBuilder().append(++table.lastId);
            for (String type : table.columns.values()) {
                values.append(", ").append(chance() < 90 ? literal(type) : "NULL");
            }
            String names = String.join(", ", table.columns.keySet());
            add(
                    "INSERT INTO %s (id%s) VALUES (%s)"
                            .formatted(name, names.isEmpty() ? "" : ", " + names, values));
        }
    }

    private void columns(String name, Table table, int what) {
        String alter = "ALTER TABLE " + name + " ";
        if (what < 53 || table.columns.size() < 2) {
            String column = "c" + table.nextColumn++;
            String type = TYPES.get(random.nextInt(TYPES.size()));
            String value = random.nextBoolean() ? " DEFAULT " + literal(type) : "";
            add(alter + "ADD COLUMN " + column + " " + type + value);
            table.columns.put(column, type);
        } else if (what < 60) {
            String column = table.someColumn(random);
            add(alter + "DROP COLUMN " + column);
            table.columns.remove(column);
        } else if (what < 65) {
            String column = table.someColumn(random);
            String renamed = "c" + table.nextColumn++;
            add(alter + "RENAME COLUMN " + column + " TO " + renamed);
            table.columns.put(renamed, table.type(column));
            table.columns.remove(column);
        } else {
            retype(alter, table);
        }
    }

    private void retype(String alter, Table table) {
        String column = table.someColumn(random);
        String type =
                switch (table.type(column)) {
                    case "int" -> random.nextBoolean() ? "bigint" : "text";
                    case "numeric(10,2)" -> "double precision";
                    case "varchar(20)" -> "text";
                    case "text" -> "text USING reverse(" + column + ")";
                    default -> "";
                };
        if (!type.isEmpty()) {
            add(alter + "ALTER COLUMN " + column + " TYPE " + type);
            table.columns.put(column, type.startsWith("text") ? "text" : type);
        }
    }

    private void indexes(String name, Table table) {
        String concurrently = inTransaction ? "" : "CONCURRENTLY ";
        if (table.uniqueIndex.isEmpty()) {
            table.uniqueIndex = "u" + ++keyNumber;
            add(
                    "CREATE UNIQUE INDEX %s%s ON %s (id)"
                            .formatted(concurrently, table.uniqueIndex, name));
            return;
        }
        switch (random.nextInt(4)) {
            case 0 -> {
                add("ALTER TABLE " + name + " ALTER COLUMN id SET NOT NULL");
                add(
                        "ALTER TABLE %s REPLICA IDENTITY USING INDEX %s"
                                .formatted(name, table.uniqueIndex));
            }
            case 1 -> add("ALTER TABLE " + name + " REPLICA IDENTITY DEFAULT");
            case 2 -> add("REINDEX TABLE " + concurrently + name);
            default -> {
                add("DROP INDEX " + concurrently + in(name) + table.uniqueIndex);
                table.uniqueIndex = "";
            }
        }
    }

    /** To the other schema, or back; no two tables have had the same number. */
    private void elsewhere(String name, Table table) {
        String other = name.startsWith(schema + ".") ? schema + ELSEWHERE : schema;
        add("ALTER TABLE " + name + " SET SCHEMA " + other);
        tables.remove(name);
        tables.put(other + "." + name.substring(in(name).length()), table);
    }

    /** The schema of a table, with its dot. */
    private static String in(String name) {
        return name.substring(0, name.indexOf('.') + 1);
    }

    private void wholeTable(String name, Table table) {
        int what = chance();
        if (what < 18) {
            add("TRUNCATE " + name);
        } else if (what < 35) {
            String renamed = "t" + ++tableNumber;
            add("ALTER TABLE " + name + " RENAME TO " + renamed);
            tables.put(in(name) + renamed, table);
            tables.remove(name);
        } else if (what < 50) {
            add("DROP TABLE " + name);
            tables.remove(name);
            freeNames.add(name);
        } else if (what < 65) {
            if (!inTransaction) {
                add("VACUUM FULL " + name);
            } else if (table.hasKey) {
                add("CLUSTER " + name + " USING " + table.keyName);
            }
        } else if (what < 70) {
            if (!inTransaction) {
                String catalog = CATALOGS.get(random.nextInt(CATALOGS.size()));
                add((chance() < 50 ? "VACUUM FULL " : "REINDEX TABLE ") + catalog);
            }
        } else if (!table.hasKey) {
            add(
                    "ALTER TABLE %s ADD CONSTRAINT %s PRIMARY KEY (id)"
                            .formatted(name, newKeyName(table)));
            table.hasKey = true;
        } else if (what < 85) {
            add("ALTER TABLE " + name + " REPLICA IDENTITY FULL");
        } else {
            add("ALTER TABLE %s DROP CONSTRAINT %s".formatted(name, table.keyName));
            table.hasKey = false;
        }
    }

    private void transaction(String name, Table table) {
        inTransaction = true;
        add("BEGIN");
        if (chance() < 40) {
            add("SAVEPOINT s");
            insert(name, table);
            add("ALTER TABLE " + name + " ADD COLUMN gone int DEFAULT 3");
            add("ROLLBACK TO s");
        }
        for (int i = random.nextInt(1, 5); i > 0; i--) {
            step();
        }
        add("COMMIT");
        inTransaction = false;
    }

    private String literal(String type) {
        int number = random.nextInt(1000);
        return switch (type) {
            case "int", "bigint" -> Integer.toString(number - 500);
            case "text" -> "'t" + number + "'";
            case "varchar(20)" -> "'v" + number + "'";
            case "numeric(10,2)" -> number + ".25";
            case "timestamptz" -> "'2024-01-%02d 10:00:00+00'".formatted(1 + number % 28);
            case "date" -> "'2024-02-%02d'".formatted(1 + number % 28);
            case "boolean" -> number % 2 == 0 ? "true" : "false";
            case "double precision" -> number + ".5";
            case "jsonb" -> "'{\"a\": " + number + "}'";
            default -> "'{1," + number + "}'";
        };
    }
}
