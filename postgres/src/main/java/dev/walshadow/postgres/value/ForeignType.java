package dev.walshadow.postgres.value;

/**
 * A base type that only its extension's library can print.
 *
 * @param library of the output function, as {@code pg_proc.probin} has it
 * @param function its symbol
 * @param length typlen: -1 for a varlena
 * @param alignment typalign
 */
public record ForeignType(
        String library, String function, int length, boolean byValue, char alignment) {}
