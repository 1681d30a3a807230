package dev.walshadow.bootstrap.backup;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.heap.HeapPage;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.shadow.RewrittenCatalog;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The little that has to be known of a backup's catalogs before any server can be asked, read from
 * the files that were laid: which catalogs have been rewritten, so that their files are wanted,
 * too, and the name of a superuser. Rows are read whatever their transaction became: of a catalog
 * that has been rewritten several times, more files are named than there are.
 *
 * <pre>
 * pg_class   0 oid  ...  88 relfilenode       pg_authid  0 oid  4 rolname (64)
 * pg_filenode.map  0 magic  4 count  8 { u32 oid, u32 number } * count
 * </pre>
 *
 * Sources: {@code src/include/catalog/pg_class.h}, {@code pg_authid.h}, {@code
 * src/backend/utils/cache/relmapper.c}, PostgreSQL 15-18.
 */
public final class LaidCatalogs {
    private static final Logger LOG = LoggerFactory.getLogger(LaidCatalogs.class);
    private static final int PG_CLASS = 1259;
    private static final int PG_AUTHID = 1260;
    private static final int BOOTSTRAP_SUPERUSER = 10;
    private static final int OID = 0;
    private static final int RELFILENODE = 88;
    private static final int ROLNAME = 4;
    private static final int NAME_LENGTH = 64;
    private static final int MAP_COUNT = 4;
    private static final int MAP_HEADER = 8;
    private static final int MAPPING_LENGTH = 8;
    private static final int FIRST_NORMAL_NUMBER = 16384;
    private static final int DEFAULT_TABLESPACE = 1663;
    private static final int GLOBAL_TABLESPACE = 1664;
    private static final Pattern DATABASE =
            Pattern.compile("(?:base|pg_tblspc/([0-9]+)/[^/]+)/([0-9]+)");

    private final Path root;
    private final byte[] page = new byte[HeapPage.SIZE];
    private final HeapPage view = new HeapPage();
    private final TupleView tuple = new TupleView();

    /**
     * @param root the data directory
     */
    public LaidCatalogs(Path root) {
        this.root = root;
    }

    /** Every rewritten catalog that the files tell of; files that are missing tell nothing. */
    public Set<RewrittenCatalog> rewritten() {
        Set<RewrittenCatalog> found = new HashSet<>();
        addMapped(root.resolve("global"), GLOBAL_TABLESPACE, 0, found);
        for (Path map : maps()) {
            Path directory = map.getParent();
            if (directory == null) {
                continue;
            }
            Matcher where =
                    DATABASE.matcher(root.relativize(directory).toString().replace('\\', '/'));
            if (where.matches()) {
                String space = where.group(1);
                int tablespace =
                        space == null ? DEFAULT_TABLESPACE : Integer.parseUnsignedInt(space);
                int database = Integer.parseUnsignedInt(where.group(2));
                addMapped(directory, tablespace, database, found);
                addRows(directory, tablespace, database, found);
            }
        }
        return found;
    }

    private List<Path> maps() {
        try (Stream<Path> files = Files.walk(root)) {
            return files.filter(each -> each.endsWith("pg_filenode.map")).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void addMapped(
            Path directory, int tablespace, int database, Set<RewrittenCatalog> into) {
        map(directory).forEach((oid, number) -> add(oid, tablespace, database, number, into));
    }

    private void addRows(Path directory, int tablespace, int database, Set<RewrittenCatalog> into) {
        forEachRow(
                directory,
                PG_CLASS,
                at ->
                        add(
                                LittleEndian.getInt(page, at + OID),
                                tablespace,
                                database,
                                LittleEndian.getInt(page, at + RELFILENODE),
                                into));
    }

    private static void add(
            int oid, int tablespace, int database, int number, Set<RewrittenCatalog> into) {
        if (Integer.compareUnsigned(oid, FIRST_NORMAL_NUMBER) < 0
                && Integer.compareUnsigned(number, FIRST_NORMAL_NUMBER) >= 0) {
            into.add(new RewrittenCatalog(oid, new RelationLocator(tablespace, database, number)));
        }
    }

    /** The name of the role with OID 10, which every cluster has; null if it is not found. */
    public @Nullable String bootstrapRole() {
        String[] found = new String[1];
        forEachRow(
                root.resolve("global"),
                PG_AUTHID,
                at -> {
                    if (LittleEndian.getInt(page, at + OID) == BOOTSTRAP_SUPERUSER) {
                        found[0] = name(at + ROLNAME);
                    }
                });
        return found[0];
    }

    private String name(int at) {
        int length = 0;
        while (length < NAME_LENGTH && page[at + length] != 0) {
            length++;
        }
        return new String(page, at, length, StandardCharsets.UTF_8);
    }

    private static Map<Integer, Integer> map(Path directory) {
        Map<Integer, Integer> numbers = new HashMap<>();
        byte[] bytes;
        try {
            bytes = Files.readAllBytes(directory.resolve("pg_filenode.map"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        int count = bytes.length < MAP_HEADER ? 0 : LittleEndian.getInt(bytes, MAP_COUNT);
        for (int i = 0; i < count && MAP_HEADER + (i + 1) * MAPPING_LENGTH <= bytes.length; i++) {
            int at = MAP_HEADER + i * MAPPING_LENGTH;
            numbers.put(LittleEndian.getInt(bytes, at), LittleEndian.getInt(bytes, at + 4));
        }
        return numbers;
    }

    /** Gives where the data of each row begins in the page. */
    private void forEachRow(Path directory, int catalog, IntConsumer row) {
        String number = Integer.toUnsignedString(map(directory).getOrDefault(catalog, catalog));
        try {
            for (int segment = 0; ; segment++) {
                Path file = directory.resolve(segment == 0 ? number : number + "." + segment);
                if (!Files.exists(file)) {
                    return;
                }
                try (InputStream in = Files.newInputStream(file)) {
                    while (in.readNBytes(page, 0, page.length) == page.length) {
                        rowsOfPage(row);
                    }
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * A page that was written while it was copied tells what it can: the WAL has an image of it.
     */
    private void rowsOfPage(IntConsumer row) {
        try {
            if (!view.wrap(page, 0)) {
                return;
            }
            for (int line = view.nextNormal(0); line != 0; line = view.nextNormal(line)) {
                view.tuple(line, tuple);
                row.accept(tuple.dataOffset());
            }
        } catch (QuarantineException e) {
            LOG.debug("a torn page of a catalog: {}", e.getMessage());
        }
    }
}
