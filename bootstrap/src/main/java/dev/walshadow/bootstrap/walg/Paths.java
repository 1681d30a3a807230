package dev.walshadow.bootstrap.walg;

/** Paths as wal-g's archives and lists write them. */
final class Paths {
    private Paths() {}

    /** wal-g writes {@code /base/1/1259}; PostgreSQL {@code base/1/1259}. */
    static String relative(String path) {
        int from = 0;
        while (path.startsWith("/", from) || path.startsWith("./", from)) {
            from += path.startsWith("/", from) ? 1 : 2;
        }
        int to = path.length();
        while (to > from && path.charAt(to - 1) == '/') {
            to--;
        }
        String found = path.substring(from, to);
        return found.equals(".") ? "" : found;
    }

    /** Whether a part of it would lead elsewhere. */
    static boolean leadsOut(String relative) {
        for (String part : relative.split("/", -1)) {
            if (part.equals("..") || part.equals(".") || (part.isEmpty() && !relative.isEmpty())) {
                return true;
            }
        }
        return false;
    }
}
