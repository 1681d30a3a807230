package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;

/**
 * Turns what a type's send function gives (binary COPY) into what PostgreSQL stores. May be shared
 * between columns of one thread.
 */
@FunctionalInterface
public interface SendForm {
    /**
     * Appends the stored bytes, of a varlena type without its header.
     *
     * @throws dev.walshadow.base.QuarantineException if the bytes are no value of the type; part of
     *     the result may then have been appended
     */
    void append(byte[] bytes, int offset, int length, ByteBuilder out);
}
