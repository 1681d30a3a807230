package dev.walshadow.postgres.value;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.postgres.PostgresCodes;

/** The one message about bytes that are no value of their type. */
final class Malformed {
    /** MaxAllocSize, PostgreSQL's own limit of a text: keeps what few bytes can print finite. */
    static final int TEXT_LIMIT = 0x3FFF_FFFF;

    private Malformed() {}

    static QuarantineException value(String type, String expected, String found, int offset) {
        return new QuarantineException(
                PostgresCodes.MALFORMED_VALUE,
                "malformed "
                        + type
                        + " value: expected "
                        + expected
                        + ", found "
                        + found
                        + " at buffer offset "
                        + offset
                        + ". The source's data or the WAL is damaged, or the column has another"
                        + " type than its descriptor says: check the source with pg_amcheck, then"
                        + " reload the table.");
    }

    /** The check of a fixed-length value's length. */
    static void requireLength(String type, int expected, byte[] bytes, int offset, int length) {
        if (length != expected || offset < 0 || length > bytes.length - offset) {
            throw value(type, expected + " bytes", length + " bytes", offset);
        }
    }

    /** The check that a value's bytes lie inside their buffer. */
    static void requireInside(String type, byte[] bytes, int offset, int length) {
        if (offset < 0 || length < 0 || length > bytes.length - offset) {
            throw value(type, "bytes inside the buffer", length + " bytes", offset);
        }
    }
}
