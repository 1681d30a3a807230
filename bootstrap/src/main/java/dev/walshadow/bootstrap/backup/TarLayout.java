package dev.walshadow.bootstrap.backup;

/**
 * A tar archive as PostgreSQL's BASE_BACKUP writes it: POSIX ustar without extensions, a header
 * block, the body, zeros up to the next block; at the end two blocks of zeros. Numbers are octal
 * text, or base 256 behind a byte of 0x80 where octal has too few digits. Source: {@code
 * src/port/tar.c}, {@code src/include/pgtar.h}, PostgreSQL 15-18.
 *
 * <pre>
 *   0 name 100   100 mode 8   124 size 12   148 checksum 8   156 type 1   157 link target 100
 * 257 magic "ustar" 6   345 prefix 155 (always empty)
 * </pre>
 */
final class TarLayout {
    static final int BLOCK_LENGTH = 512;
    static final int NAME = 0;
    static final int NAME_LENGTH = 100;
    static final int SIZE = 124;
    static final int SIZE_LENGTH = 12;
    static final int CHECKSUM = 148;
    static final int CHECKSUM_LENGTH = 8;
    static final int TYPE = 156;
    static final int MAGIC = 257;
    static final int PREFIX = 345;
    static final int PREFIX_LENGTH = 155;

    static final int TYPE_FILE = '0';
    static final int TYPE_LINK = '2';
    static final int TYPE_DIRECTORY = '5';

    private TarLayout() {}
}
