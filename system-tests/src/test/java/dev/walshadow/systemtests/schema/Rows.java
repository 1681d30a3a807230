package dev.walshadow.systemtests.schema;

import java.util.List;

/** Statements on rows that the cases share. */
final class Rows {
    static final String TABLE = "CREATE TABLE t (id int PRIMARY KEY, v text, n int)";
    static final String FILL =
            "INSERT INTO t SELECT i, 'v' || i, i * 10 FROM generate_series(1, 40) i";
    static final String INSERT =
            "INSERT INTO t (id, v, n) SELECT coalesce(max(id), 0) + 1, 'new', 7 FROM t";
    static final String UPDATE = "UPDATE t SET v = v || '+' WHERE id % 3 = 0";
    static final String DELETE = "DELETE FROM t WHERE id = (SELECT min(id) FROM t)";

    /** Whatever else the table has by then. */
    static final String INSERT_ID = "INSERT INTO t (id) SELECT coalesce(max(id), 0) + 1 FROM t";

    static final List<String> ALL = List.of(INSERT, UPDATE, DELETE);

    private Rows() {}
}
