package dev.walshadow.postgres.value;

import org.jspecify.annotations.Nullable;

/**
 * JsonPathItemType: part of the disk format, so only ever extended. Those from BIGINT on came with
 * PostgreSQL 17. Source: {@code src/include/utils/jsonpath.h}, PostgreSQL 15-18.
 */
final class JsonpathItem {
    static final int STRING = 1;
    static final int NUMERIC = 2;
    static final int BOOL = 3;
    static final int AND = 4;
    static final int OR = 5;
    static final int NOT = 6;
    static final int IS_UNKNOWN = 7;
    static final int EQUAL = 8;
    static final int ADD = 14;
    static final int SUBTRACT = 15;
    static final int MULTIPLY = 16;
    static final int MODULO = 18;
    static final int PLUS = 19;
    static final int MINUS = 20;
    static final int ANY_KEY = 22;
    static final int INDEX_ARRAY = 23;
    static final int ANY = 24;
    static final int KEY = 25;
    static final int VARIABLE = 28;
    static final int FILTER = 29;
    static final int EXISTS = 30;
    static final int DATETIME = 37;
    static final int STARTS_WITH = 41;
    static final int LIKE_REGEX = 42;
    static final int DECIMAL = 46;
    static final int TIME = 50;
    static final int TIME_TZ = 51;
    static final int TIMESTAMP = 52;
    static final int TIMESTAMP_TZ = 53;

    private JsonpathItem() {}

    static boolean isBinary(int type) {
        return type == AND
                || type == OR
                || (type >= EQUAL && type <= MODULO)
                || type == STARTS_WITH;
    }

    /** Between the operands of a binary one, with spaces. */
    static String operator(int type) {
        return switch (type) {
            case AND -> " && ";
            case OR -> " || ";
            case EQUAL -> " == ";
            case 9 -> " != ";
            case 10 -> " < ";
            case 11 -> " > ";
            case 12 -> " <= ";
            case 13 -> " >= ";
            case ADD -> " + ";
            case SUBTRACT -> " - ";
            case MULTIPLY -> " * ";
            case 17 -> " / ";
            case MODULO -> " % ";
            default -> " starts with ";
        };
    }

    /** A higher one binds tighter. */
    static int priority(int type) {
        if (type == OR) {
            return 0;
        }
        if (type == AND) {
            return 1;
        }
        if ((type >= EQUAL && type < ADD) || type == STARTS_WITH) {
            return 2;
        }
        if (type == ADD || type == SUBTRACT) {
            return 3;
        }
        if (type >= MULTIPLY && type <= MODULO) {
            return 4;
        }
        return type == PLUS || type == MINUS ? 5 : 6;
    }

    /** What an item without parts prints, or the beginning of a method with arguments. */
    static @Nullable String word(int type) {
        return switch (type) {
            case 0 -> "null";
            case 21 -> "[*]";
            case 26 -> "@";
            case 27 -> "$";
            case 31 -> ".type()";
            case 32 -> ".size()";
            case 33 -> ".abs()";
            case 34 -> ".floor()";
            case 35 -> ".ceiling()";
            case 36 -> ".double()";
            case DATETIME -> ".datetime(";
            case 38 -> ".keyvalue()";
            case 40 -> "last";
            case 43 -> ".bigint()";
            case 44 -> ".boolean()";
            case 45 -> ".date()";
            case DECIMAL -> ".decimal(";
            case 47 -> ".integer()";
            case 48 -> ".number()";
            case 49 -> ".string()";
            case TIME -> ".time(";
            case TIME_TZ -> ".time_tz(";
            case TIMESTAMP -> ".timestamp(";
            case TIMESTAMP_TZ -> ".timestamp_tz(";
            default -> null;
        };
    }
}
