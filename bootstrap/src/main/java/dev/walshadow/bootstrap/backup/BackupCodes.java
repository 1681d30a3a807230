package dev.walshadow.bootstrap.backup;

import dev.walshadow.base.Code;

/** Message codes 1850..1879: taking a base backup and laying the shadow. */
public final class BackupCodes {
    /** The stream of the backup is no tar archive, or ends in the middle of a file. */
    public static final Code BROKEN_STREAM = new Code(1850);

    /** The shadow's data directory holds files that are not ours. */
    public static final Code FOREIGN_DIRECTORY = new Code(1851);

    /** A file of the shadow's data directory cannot be written. */
    public static final Code CANNOT_WRITE = new Code(1852);

    /** A marker file is torn, of another version or of another cluster. */
    public static final Code BAD_MARKER = new Code(1853);

    /** The data directory already holds a complete or a half-laid shadow. */
    public static final Code NOT_EMPTY = new Code(1854);

    /** A backup of another cluster, release or kind than the source needs. */
    public static final Code UNFIT_BACKUP = new Code(1855);

    private BackupCodes() {}
}
