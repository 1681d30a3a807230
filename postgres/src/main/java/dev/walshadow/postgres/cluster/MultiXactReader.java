package dev.walshadow.postgres.cluster;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.PostgresCodes;

/**
 * Which transaction updated or deleted a row whose xmax is a multixact.
 *
 * <pre>
 * pg_multixact/offsets: u32 per multixact: its first member's number
 * pg_multixact/members: groups of 20 bytes, 409 to a page (12 bytes stay unused):
 *     u8 status of each of 4 members, u32 XID of each
 * </pre>
 *
 * A multixact's members end where the next one's begin. Member 0 does not exist; a member XID of 0
 * was never written. Source: {@code src/backend/access/transam/multixact.c}, PostgreSQL 15-18. Not
 * thread safe.
 */
public final class MultiXactReader {
    private static final int OFFSETS_PER_PAGE = SlruSegments.PAGE_SIZE / 4;
    private static final int MEMBERS_PER_GROUP = 4;
    private static final int GROUP_SIZE = MEMBERS_PER_GROUP + 4 * MEMBERS_PER_GROUP;
    private static final int GROUPS_PER_PAGE = SlruSegments.PAGE_SIZE / GROUP_SIZE;
    private static final int MEMBERS_PER_PAGE = GROUPS_PER_PAGE * MEMBERS_PER_GROUP;

    /** MultiXactStatusForUpdate: what is above it changes the row. */
    private static final int STATUS_FOR_UPDATE = 3;

    private static final int STATUS_UPDATE = 5;

    /** No row was ever locked by as many transactions as this; a longer list is damage. */
    private static final int MEMBERS_LIMIT = 1 << 20;

    private final SlruSegments offsets;
    private final SlruSegments members;

    public MultiXactReader(SlruSegments offsets, SlruSegments members) {
        this.offsets = offsets;
        this.members = members;
    }

    /**
     * The XID of the member that updated or deleted the row, or 0 if all only lock it.
     *
     * @throws HaltException if the files do not hold this multixact, or hold nonsense
     */
    public int updater(int multi) {
        if (multi == 0) {
            throw malformed(multi, "a multixact above 0");
        }
        int first = offset(multi);
        if (first == 0) {
            throw malformed(multi, "its first member's number in pg_multixact/offsets");
        }
        int next = multi == -1 ? 1 : multi + 1;
        // 0: the next multixact does not exist (yet); the members then end where they are unwritten
        int end = offset(next);
        if (end != 0 && Integer.compareUnsigned(end - first, MEMBERS_LIMIT + 1) > 0) {
            throw malformed(
                    multi,
                    "at most "
                            + MEMBERS_LIMIT
                            + " members, found them to lie from "
                            + Integer.toUnsignedString(first)
                            + " to "
                            + Integer.toUnsignedString(end));
        }
        int updater = 0;
        int count = 0;
        for (int number = first; number != end; number++) {
            if (number == 0) {
                continue;
            }
            int xid = memberXid(number);
            if (xid == 0) {
                if (end == 0) {
                    break;
                }
                continue;
            }
            int status = memberStatus(number);
            if (status > STATUS_UPDATE || ++count > MEMBERS_LIMIT) {
                throw malformed(
                        multi,
                        "member "
                                + Integer.toUnsignedString(number)
                                + " with a status of 0 to 5, found "
                                + status);
            }
            if (status > STATUS_FOR_UPDATE) {
                updater = xid;
            }
        }
        if (count == 0) {
            throw malformed(multi, "its members in pg_multixact/members");
        }
        return updater;
    }

    /** A multixact's first member, 0 if there is none. */
    private int offset(int multi) {
        long number = Integer.toUnsignedLong(multi);
        long page = number / OFFSETS_PER_PAGE;
        byte[] segment = offsets.segmentOf(page);
        int at = SlruSegments.pageStart(page) + 4 * (int) (number % OFFSETS_PER_PAGE);
        return at + 4 <= segment.length ? LittleEndian.getInt(segment, at) : 0;
    }

    private int memberXid(int number) {
        long page = Integer.toUnsignedLong(number) / MEMBERS_PER_PAGE;
        byte[] segment = members.segmentOf(page);
        int at = groupStart(number) + MEMBERS_PER_GROUP + 4 * indexInGroup(number);
        return at + 4 <= segment.length ? LittleEndian.getInt(segment, at) : 0;
    }

    private int memberStatus(int number) {
        long page = Integer.toUnsignedLong(number) / MEMBERS_PER_PAGE;
        return members.segmentOf(page)[groupStart(number) + indexInGroup(number)] & 0xFF;
    }

    private static int groupStart(int number) {
        long member = Integer.toUnsignedLong(number);
        int group = (int) (member / MEMBERS_PER_GROUP % GROUPS_PER_PAGE);
        return SlruSegments.pageStart(member / MEMBERS_PER_PAGE) + group * GROUP_SIZE;
    }

    private static int indexInGroup(int number) {
        return number & (MEMBERS_PER_GROUP - 1);
    }

    private static HaltException malformed(int multi, String expected) {
        return new HaltException(
                PostgresCodes.MALFORMED_MULTIXACT,
                "multixact "
                        + Integer.toUnsignedString(multi)
                        + " cannot be resolved: expected "
                        + expected
                        + ". The copied pg_multixact is incomplete or damaged: start the bootstrap"
                        + " again; if it repeats, check the source.");
    }
}
