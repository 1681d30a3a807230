package dev.walshadow.bootstrap.backup;

import dev.walshadow.base.Code;

/** Message codes 1800..1829: taking a base backup and laying the shadow. */
public final class BackupCodes {
    /** The stream of the backup is no tar archive, or ends in the middle of a file. */
    public static final Code BROKEN_STREAM = new Code(1800);

    /** The shadow's data directory holds files that are not ours. */
    public static final Code FOREIGN_DIRECTORY = new Code(1801);

    /** A file of the shadow's data directory cannot be written. */
    public static final Code CANNOT_WRITE = new Code(1802);

    /** A marker file is torn, of another version or of another cluster. */
    public static final Code BAD_MARKER = new Code(1803);

    /** The data directory already holds a complete or a half-laid shadow. */
    public static final Code NOT_EMPTY = new Code(1804);

    private BackupCodes() {}
}
