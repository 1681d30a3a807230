package dev.walshadow.postgres.wal;

import java.util.Map;

/**
 * The names that pg_waldump gives record types. Source: the {@code _identify} functions in {@code
 * src/backend/access/rmgrdesc/}, PostgreSQL 15-18.
 */
public final class RecordNames {
    /** Per resource manager: the operation names by info value, in steps of 0x10. */
    private static final String[][] NAMES = {
        names(
                "CHECKPOINT_SHUTDOWN,CHECKPOINT_ONLINE,NOOP,NEXTOID,SWITCH,BACKUP_END,"
                        + "PARAMETER_CHANGE,RESTORE_POINT,FPW_CHANGE,END_OF_RECOVERY,FPI_FOR_HINT,"
                        + "FPI,,OVERWRITE_CONTRECORD,CHECKPOINT_REDO"),
        names("COMMIT,PREPARE,ABORT,COMMIT_PREPARED,ABORT_PREPARED,ASSIGNMENT,INVALIDATION"),
        names(",CREATE,TRUNCATE"),
        names("ZEROPAGE,TRUNCATE"),
        names("CREATE_FILE_COPY,CREATE_WAL_LOG,DROP"),
        names("CREATE,DROP"),
        names("ZERO_OFF_PAGE,ZERO_MEM_PAGE,CREATE_ID,TRUNCATE_ID"),
        names("UPDATE"),
        names("LOCK,RUNNING_XACTS,INVALIDATIONS"),
        names("REWRITE,PRUNE,VACUUM,FREEZE_PAGE,VISIBLE,MULTI_INSERT,LOCK_UPDATED,NEW_CID"),
        names("INSERT,DELETE,UPDATE,TRUNCATE,HOT_UPDATE,HEAP_CONFIRM,LOCK,INPLACE"),
        names(
                "INSERT_LEAF,INSERT_UPPER,INSERT_META,SPLIT_L,SPLIT_R,INSERT_POST,DEDUP,DELETE,"
                        + "UNLINK_PAGE,UNLINK_PAGE_META,NEWROOT,MARK_PAGE_HALFDEAD,VACUUM,"
                        + "REUSE_PAGE,META_CLEANUP"),
        names(
                "INIT_META_PAGE,INIT_BITMAP_PAGE,INSERT,ADD_OVFL_PAGE,SPLIT_ALLOCATE_PAGE,"
                        + "SPLIT_PAGE,SPLIT_COMPLETE,MOVE_PAGE_CONTENTS,SQUEEZE_PAGE,DELETE,"
                        + "SPLIT_CLEANUP,UPDATE_META_PAGE,VACUUM_ONE_PAGE"),
        names(
                ",CREATE_PTREE,INSERT,SPLIT,VACUUM_PAGE,DELETE_PAGE,UPDATE_META_PAGE,"
                        + "INSERT_LISTPAGE,DELETE_LISTPAGE,VACUUM_DATA_LEAF_PAGE"),
        names("PAGE_UPDATE,DELETE,PAGE_REUSE,PAGE_SPLIT,,,PAGE_DELETE,ASSIGN_LSN"),
        names("LOG"),
        names(
                ",ADD_LEAF,MOVE_LEAFS,ADD_NODE,SPLIT_TUPLE,PICKSPLIT,VACUUM_LEAF,VACUUM_ROOT,"
                        + "VACUUM_REDIRECT"),
        names("CREATE_INDEX,INSERT,UPDATE,SAMEPAGE_UPDATE,REVMAP_EXTEND,DESUMMARIZE"),
        names("ZEROPAGE,TRUNCATE"),
        names("SET,DROP"),
        names("Generic"),
        names("MESSAGE"),
    };

    /** 17 gave HEAP2's numbers for pruning new meanings. */
    private static final Map<String, String> PRUNE_17 =
            Map.of(
                    "PRUNE", "PRUNE_ON_ACCESS",
                    "VACUUM", "PRUNE_VACUUM_SCAN",
                    "FREEZE_PAGE", "PRUNE_VACUUM_CLEANUP");

    private static final int INIT = 0x80;
    private static final int OPMASK = 0x70;

    private RecordNames() {}

    private static String[] names(String list) {
        return list.split(",", -1);
    }

    /** For example {@code INSERT+INIT}; {@code UNKNOWN (0xF0)} where PostgreSQL has no name. */
    public static String name(int resourceManager, int info, int majorVersion) {
        int operation = info & XLogLayout.XLR_RMGR_INFO_MASK;
        String suffix = "";
        switch (resourceManager) {
            case ResourceManager.TRANSACTION -> operation &= OPMASK;
            case ResourceManager.HEAP, ResourceManager.HEAP2, ResourceManager.BRIN -> {
                suffix = (operation & INIT) != 0 ? "+INIT" : "";
                operation &= OPMASK;
            }
            default -> {
                // all four bits are the operation
            }
        }
        String[] names = resourceManager < NAMES.length ? NAMES[resourceManager] : new String[0];
        int index = operation >>> 4;
        if (index >= names.length || names[index].isEmpty()) {
            return "UNKNOWN (0x" + Integer.toHexString(info) + ")";
        }
        String name = names[index];
        if (resourceManager == ResourceManager.HEAP2 && majorVersion >= 17) {
            name = PRUNE_17.getOrDefault(name, name);
        }
        return name + suffix;
    }
}
