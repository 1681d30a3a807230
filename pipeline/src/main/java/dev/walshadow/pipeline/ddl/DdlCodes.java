package dev.walshadow.pipeline.ddl;

import dev.walshadow.base.Code;

/** The message codes of changes of shape (pipeline: 17xx, these from 1770). */
public final class DdlCodes {
    /** A target table has not the shape that an alteration should have left, or is gone. */
    public static final Code ALTERATION = new Code(1770);

    private DdlCodes() {}
}
