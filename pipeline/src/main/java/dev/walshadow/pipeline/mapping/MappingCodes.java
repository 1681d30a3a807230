package dev.walshadow.pipeline.mapping;

import dev.walshadow.base.Code;

/** The message codes of the mapping and of the encoder (pipeline: 17xx, these from 1750). */
public final class MappingCodes {
    /** A pinned mapping cannot be read. */
    public static final Code PINNED = new Code(1750);

    /** A row holds a value that its mapped column cannot hold and no policy covers. */
    public static final Code VALUE = new Code(1751);

    /** A table shape and its mapping do not belong together. */
    public static final Code SHAPE = new Code(1752);

    /** A tuple has no usable value where one is needed. */
    public static final Code ROW = new Code(1753);

    /** Hashed columns were made with another salt. */
    public static final Code SALT = new Code(1754);

    /** A value is larger than configured. */
    public static final Code OVERSIZED = new Code(1755);

    private MappingCodes() {}
}
