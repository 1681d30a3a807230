package dev.walshadow.pipeline;

import dev.walshadow.base.DurableFiles;
import dev.walshadow.base.HaltException;
import dev.walshadow.postgres.Lsn;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Which tables were set aside, durably: one text file that is replaced as a whole (I11).
 *
 * <pre>
 * walshadow-quarantine TAB 1 (version) TAB system identifier
 * per table: database OID TAB relation OID TAB label TAB LSN TAB code TAB discarded TAB reason
 * crc32c TAB checksum of everything before this line, 8 hex digits
 * </pre>
 *
 * Backslash, tab and line breaks are written as {@code \\ \t \n \r}. Thread safe.
 */
public final class Quarantine {
    private static final String FILE_NAME = "quarantine";
    private static final String MAGIC = "walshadow-quarantine";
    private static final int VERSION = 1;

    /**
     * One table set aside.
     *
     * @param label the table's name at that time
     * @param positionLsn commit position of the first transaction that is not replicated for it
     * @param code message code of the reason
     * @param reason what happened, with the statement or record, and what the operator can do
     * @param discardedRows changes dropped since
     */
    public record Entry(
            int databaseOid,
            int relationOid,
            String label,
            long positionLsn,
            int code,
            String reason,
            long discardedRows) {}

    private final Path file;
    private final long systemIdentifier;
    private final Map<Long, Entry> entries = new LinkedHashMap<>();

    private Quarantine(Path file, long systemIdentifier) {
        this.file = file;
        this.systemIdentifier = systemIdentifier;
    }

    /** Opens or creates {@code <stateDirectory>/quarantine}; refuses a foreign or newer file. */
    public static Quarantine open(Path stateDirectory, long systemIdentifier) {
        Quarantine quarantine = new Quarantine(stateDirectory.resolve(FILE_NAME), systemIdentifier);
        if (Files.exists(quarantine.file)) {
            quarantine.read();
        }
        return quarantine;
    }

    public synchronized Collection<Entry> entries() {
        return List.copyOf(entries.values());
    }

    public synchronized @Nullable Entry find(int databaseOid, int relationOid) {
        return entries.get(key(databaseOid, relationOid));
    }

    /**
     * Sets a table aside; durable on return. The reason with the lowest position stays.
     *
     * @return what is recorded for the table now
     */
    public synchronized Entry add(Entry entry) {
        long key = key(entry.databaseOid(), entry.relationOid());
        Entry present = entries.get(key);
        if (present != null && present.positionLsn() <= entry.positionLsn()) {
            return present;
        }
        entries.put(key, entry);
        write();
        return entry;
    }

    /** Takes a table back in, after a new load. */
    public synchronized void remove(int databaseOid, int relationOid) {
        if (entries.remove(key(databaseOid, relationOid)) != null) {
            write();
        }
    }

    /** Records how many changes have been dropped; written when the number has changed. */
    synchronized void discarded(Map<Long, Long> rowsByTable) {
        boolean changed = false;
        for (Map.Entry<Long, Long> count : rowsByTable.entrySet()) {
            Entry entry = entries.get(count.getKey());
            if (entry != null && entry.discardedRows() != count.getValue()) {
                changed = true;
                entries.put(
                        count.getKey(),
                        new Entry(
                                entry.databaseOid,
                                entry.relationOid,
                                entry.label,
                                entry.positionLsn,
                                entry.code,
                                entry.reason,
                                count.getValue()));
            }
        }
        if (changed) {
            write();
        }
    }

    static long key(int databaseOid, int relationOid) {
        return ((long) databaseOid << 32) | Integer.toUnsignedLong(relationOid);
    }

    private void write() {
        StringBuilder text = new StringBuilder();
        text.append(MAGIC).append('\t').append(VERSION).append('\t');
        text.append(Long.toUnsignedString(systemIdentifier)).append('\n');
        for (Entry entry : entries.values()) {
            text.append(Integer.toUnsignedString(entry.databaseOid())).append('\t');
            text.append(Integer.toUnsignedString(entry.relationOid())).append('\t');
            text.append(escape(entry.label())).append('\t');
            text.append(Lsn.format(entry.positionLsn())).append('\t');
            text.append(entry.code()).append('\t');
            text.append(entry.discardedRows()).append('\t');
            text.append(escape(entry.reason())).append('\n');
        }
        byte[] body = text.toString().getBytes(StandardCharsets.UTF_8);
        text.append("crc32c\t").append(checksum(body, body.length)).append('\n');
        try {
            DurableFiles.replace(file, text.toString().getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new HaltException(
                    PipelineCodes.QUARANTINE_FILE,
                    "cannot write " + file + " (" + e + "); check space and rights, then restart",
                    e);
        }
    }

    private static String checksum(byte[] bytes, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, length);
        return String.format("%08x", crc.getValue());
    }

    private void read() {
        try {
            byte[] bytes = Files.readAllBytes(file);
            String text = new String(bytes, StandardCharsets.UTF_8);
            int last = text.lastIndexOf("crc32c\t");
            if (last < 0) {
                throw damaged("no checksum line, so it is cut off");
            }
            int bodyLength = text.substring(0, last).getBytes(StandardCharsets.UTF_8).length;
            String[] lines = text.substring(0, last).split("\n", -1);
            readHeader(lines[0].split("\t", -1));
            if (!text.substring(last).equals("crc32c\t" + checksum(bytes, bodyLength) + "\n")) {
                throw damaged("its checksum does not match its content");
            }
            for (int i = 1; i < lines.length - 1; i++) {
                Entry entry = parse(lines[i].split("\t", -1));
                entries.put(key(entry.databaseOid(), entry.relationOid()), entry);
            }
        } catch (IOException e) {
            throw new HaltException(
                    PipelineCodes.QUARANTINE_FILE, "cannot read " + file + " (" + e + ")", e);
        } catch (IllegalArgumentException e) {
            throw damaged(String.valueOf(e.getMessage()));
        }
    }

    private void readHeader(String[] header) {
        if (header.length != 3 || !header[0].equals(MAGIC)) {
            throw damaged("it does not start with " + MAGIC);
        }
        if (Integer.parseInt(header[1]) > VERSION) {
            throw new HaltException(
                    PipelineCodes.QUARANTINE_FILE,
                    file
                            + " was written by a newer walshadow: expected version "
                            + VERSION
                            + ", found "
                            + header[1]
                            + "; start that version again");
        }
        if (Long.parseUnsignedLong(header[2]) != systemIdentifier) {
            throw new HaltException(
                    PipelineCodes.QUARANTINE_FILE,
                    file
                            + " belongs to another source cluster: expected system identifier "
                            + Long.toUnsignedString(systemIdentifier)
                            + ", found "
                            + header[2]
                            + "; use the state directory of this source");
        }
    }

    private Entry parse(String[] fields) {
        if (fields.length != 7) {
            throw damaged("a line has " + fields.length + " fields, not 7");
        }
        return new Entry(
                Integer.parseUnsignedInt(fields[0]),
                Integer.parseUnsignedInt(fields[1]),
                unescape(fields[2]),
                Lsn.parse(fields[3]),
                Integer.parseInt(fields[4]),
                unescape(fields[6]),
                Long.parseLong(fields[5]));
    }

    private HaltException damaged(String what) {
        return new HaltException(
                PipelineCodes.QUARANTINE_FILE,
                file + " is damaged: " + what + "; restore it, or remove it and load its tables");
    }

    private static String escape(String text) {
        return text.replace("\\", "\\\\")
                .replace("\t", "\\t")
                .replace("\n", "\\n")
                .replace("\r", "\\r");
    }

    private static String unescape(String text) {
        StringBuilder out = new StringBuilder(text.length());
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c != '\\' || i + 1 == text.length()) {
                out.append(c);
                continue;
            }
            char next = text.charAt(++i);
            out.append(
                    switch (next) {
                        case 't' -> '\t';
                        case 'n' -> '\n';
                        case 'r' -> '\r';
                        default -> next;
                    });
        }
        return out.toString();
    }
}
