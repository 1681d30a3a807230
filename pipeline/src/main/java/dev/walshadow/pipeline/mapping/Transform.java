package dev.walshadow.pipeline.mapping;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What is sent instead of a column's values. Works on PostgreSQL's text of a value in UTF-8 and
 * gives text, so such a column is a String in ClickHouse. NULL stays NULL, but for {@link
 * Constant}.
 */
public sealed interface Transform {
    /** HMAC-SHA-256 with the salt as key, in 64 lowercase hexadecimal digits. */
    record Hash(HashKey key) implements Transform {
        @Override
        public String print() {
            return "hash:" + key.fingerprint();
        }
    }

    /** Every character becomes {@code *}. */
    record Mask() implements Transform {
        @Override
        public String print() {
            return "mask";
        }
    }

    /** The first so many characters. */
    record Truncate(int characters) implements Transform {
        @Override
        public String print() {
            return "truncate(" + characters + ")";
        }
    }

    /** This text in every row, NULLs included. */
    record Constant(String value) implements Transform {
        @Override
        public String print() {
            return "constant(" + value + ")";
        }
    }

    /** NULL in every row. */
    record Null() implements Transform {
        @Override
        public String print() {
            return "null";
        }
    }

    /** How configurations spell them, for messages. */
    String FORMS = "hash, mask, truncate(n), constant(text) or null";

    Pattern TRUNCATE = Pattern.compile("truncate\\((\\d{1,9})\\)");
    Pattern CONSTANT = Pattern.compile("constant\\((.*)\\)", Pattern.DOTALL);
    Pattern HASHED = Pattern.compile("hash:([0-9a-f]+)");

    /** As {@link #parse} reads it back; a hash with its salt's fingerprint. */
    String print();

    /**
     * @param key of a hash in a configuration; null if there is none
     * @throws IllegalArgumentException says what is wrong
     */
    static Transform parse(String text, @Nullable HashKey key) {
        Matcher truncate = TRUNCATE.matcher(text);
        if (truncate.matches()) {
            return new Truncate(Integer.parseInt(truncate.group(1)));
        }
        Matcher constant = CONSTANT.matcher(text);
        if (constant.matches()) {
            return new Constant(constant.group(1));
        }
        Matcher hashed = HASHED.matcher(text);
        if (hashed.matches()) {
            return new Hash(HashKey.unknown(hashed.group(1)));
        }
        return switch (text) {
            case "mask" -> new Mask();
            case "null" -> new Null();
            case "hash" -> {
                if (key == null) {
                    throw new IllegalArgumentException(
                            "hash needs a salt: set [transform] salt or salt_file");
                }
                yield new Hash(key);
            }
            default -> throw new IllegalArgumentException("expected " + FORMS);
        };
    }

    /** Whether different values stay different, so that a key may be transformed. */
    default boolean keepsApart() {
        return this instanceof Hash;
    }

    /** Whether the result does not depend on the value. */
    default boolean isFixed() {
        return this instanceof Constant || this instanceof Null;
    }
}
