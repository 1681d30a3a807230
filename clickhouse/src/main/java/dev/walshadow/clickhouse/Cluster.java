package dev.walshadow.clickhouse;

import java.util.HashMap;
import java.util.Map;

/**
 * The replicas that keep every table: one shard of a cluster of {@code system.clusters}.
 *
 * @param name as ON CLUSTER names it
 * @param quorum how many replicas must have an INSERT before it counts as done: {@code auto} (the
 *     majority) or a number; below 2: the one that took it
 */
public record Cluster(String name, String quorum) {
    private static final String QUORUM = "insert_quorum";

    /** Whether a row counts as stored only when several replicas have it. */
    public boolean hasQuorum() {
        return quorum.equals("auto") || Integer.parseInt(quorum) > 1;
    }

    /**
     * Server settings of every statement. An INSERT is seen by every later SELECT, whichever
     * replica answers it; that needs one INSERT at a time and table ({@code
     * insert_quorum_parallel}). A DDL statement returns when all replicas that live have carried it
     * out.
     */
    Map<String, String> settings() {
        Map<String, String> ddl =
                Map.of(
                        "distributed_ddl_output_mode",
                        "throw_only_active",
                        "distributed_ddl_task_timeout",
                        "240");
        if (!hasQuorum()) {
            return ddl;
        }
        Map<String, String> all = new HashMap<>(ddl);
        all.put(QUORUM, quorum);
        all.put("insert_quorum_parallel", "0");
        all.put("select_sequential_consistency", "1");
        return all;
    }

    /** A statement of walshadow as all replicas are to carry it out. */
    String spread(String sql) {
        return ClusterDdl.spread(sql, name);
    }
}
