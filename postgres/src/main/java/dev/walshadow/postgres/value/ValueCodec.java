package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;

/**
 * Turns a type's on-disk bytes into the text that its output function prints. A codec may hold
 * scratch state, so each thread has its own.
 */
@FunctionalInterface
public interface ValueCodec {
    /**
     * Appends the text.
     *
     * @param offset of a varlena type: its detoasted payload, behind the header
     * @throws dev.walshadow.base.QuarantineException if the bytes are no value of the type; part of
     *     the text may then have been appended
     */
    void appendText(byte[] bytes, int offset, int length, ByteBuilder out);
}
