package dev.walshadow.source;

import dev.walshadow.base.ByteBuilder;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * The storage of catalogs that VACUUM FULL, CLUSTER or REINDEX moved to a relation number of the
 * user range, by full locator (numbers repeat across tablespaces and databases). Few entries: empty
 * on most clusters, some hundreds after VACUUM FULL of whole databases. Single-threaded.
 */
final class RewrittenCatalogs {
    private static final int INITIAL_CAPACITY = 64;

    private int[] tablespaces = new int[INITIAL_CAPACITY];
    private int[] databases = new int[INITIAL_CAPACITY];
    private int[] relations = new int[INITIAL_CAPACITY];

    /** Bits of {@link Catalogs}: which catalogs this may be. 0 marks a free slot. */
    private long[] catalogs = new long[INITIAL_CAPACITY];

    /** The transaction that created it, until it has ended. */
    private int[] creators = new int[INITIAL_CAPACITY];

    private int size;

    boolean isEmpty() {
        return size == 0;
    }

    int size() {
        return size;
    }

    /** 0 if this is no catalog's storage. */
    long get(int tablespace, int database, int relation) {
        return size == 0 ? 0 : catalogs[find(tablespace, database, relation)];
    }

    void put(int tablespace, int database, int relation, long bits, int creator) {
        if ((size + 1) * 2 > catalogs.length) {
            rebuild(catalogs.length * 2, -1);
        }
        int at = find(tablespace, database, relation);
        if (catalogs[at] == 0) {
            size++;
            tablespaces[at] = tablespace;
            databases[at] = database;
            relations[at] = relation;
            creators[at] = creator;
        }
        catalogs[at] = bits;
    }

    /** True if it was there. */
    boolean remove(int tablespace, int database, int relation) {
        if (size == 0) {
            return false;
        }
        int at = find(tablespace, database, relation);
        if (catalogs[at] == 0) {
            return false;
        }
        rebuild(catalogs.length, at);
        return true;
    }

    /** What the number stands for in any database; 0 if in none. */
    long bitsOfNumber(int relation) {
        for (int i = 0; size > 0 && i < catalogs.length; i++) {
            if (catalogs[i] != 0 && relations[i] == relation) {
                return catalogs[i];
            }
        }
        return 0;
    }

    /** A database's files were copied, with their numbers. */
    void copyDatabase(int fromDatabase, int fromTablespace, int toDatabase, int toTablespace) {
        List<Integer> slots = new ArrayList<>();
        for (int i = 0; size > 0 && i < catalogs.length; i++) {
            if (catalogs[i] != 0
                    && databases[i] == fromDatabase
                    && tablespaces[i] == fromTablespace) {
                slots.add(relations[i]);
            }
        }
        for (int relation : slots) {
            put(toTablespace, toDatabase, relation, get(fromTablespace, fromDatabase, relation), 0);
        }
    }

    void dropDatabase(int database, int tablespace) {
        for (int i = 0; size > 0 && i < catalogs.length; i++) {
            if (catalogs[i] != 0 && databases[i] == database && tablespaces[i] == tablespace) {
                rebuild(catalogs.length, i);
                i = -1;
            }
        }
    }

    int createdBy(int xid) {
        int count = 0;
        for (int i = 0; size > 0 && i < catalogs.length; i++) {
            if (catalogs[i] != 0 && creators[i] == xid) {
                count++;
            }
        }
        return count;
    }

    /** The transaction has ended, or a subtransaction's work belongs to {@code successor} now. */
    void changeCreator(int xid, int successor) {
        for (int i = 0; size > 0 && i < catalogs.length; i++) {
            if (catalogs[i] != 0 && creators[i] == xid) {
                creators[i] = successor;
            }
        }
    }

    /** i32 count, then {i32 tablespace, database, relation, creator, i64 catalogs} each. */
    void encode(ByteBuilder out) {
        out.putInt(size);
        for (int i = 0; i < catalogs.length; i++) {
            if (catalogs[i] != 0) {
                out.putInt(tablespaces[i]);
                out.putInt(databases[i]);
                out.putInt(relations[i]);
                out.putInt(creators[i]);
                out.putLong(catalogs[i]);
            }
        }
    }

    void decode(ByteBuffer in) {
        int count = in.getInt();
        allocate(INITIAL_CAPACITY);
        for (int i = 0; i < count; i++) {
            int tablespace = in.getInt();
            int database = in.getInt();
            int relation = in.getInt();
            int creator = in.getInt();
            put(tablespace, database, relation, in.getLong(), creator);
        }
    }

    private int find(int tablespace, int database, int relation) {
        int mask = catalogs.length - 1;
        int mixed = (relation * 31 + database) * 31 + tablespace;
        mixed *= 0x9E3779B9;
        int at = (mixed ^ mixed >>> 16) & mask;
        while (catalogs[at] != 0
                && (relations[at] != relation
                        || databases[at] != database
                        || tablespaces[at] != tablespace)) {
            at = (at + 1) & mask;
        }
        return at;
    }

    /** Copies all entries but the one in slot {@code omit} into fresh arrays. */
    private void rebuild(int capacity, int omit) {
        int[] oldTablespaces = tablespaces;
        int[] oldDatabases = databases;
        int[] oldRelations = relations;
        long[] oldCatalogs = catalogs;
        int[] oldCreators = creators;
        allocate(capacity);
        for (int i = 0; i < oldCatalogs.length; i++) {
            if (oldCatalogs[i] != 0 && i != omit) {
                put(
                        oldTablespaces[i],
                        oldDatabases[i],
                        oldRelations[i],
                        oldCatalogs[i],
                        oldCreators[i]);
            }
        }
    }

    private void allocate(int capacity) {
        tablespaces = new int[capacity];
        databases = new int[capacity];
        relations = new int[capacity];
        catalogs = new long[capacity];
        creators = new int[capacity];
        size = 0;
    }
}
