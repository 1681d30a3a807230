package dev.walshadow.daemon.preflight;

import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.Cluster;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.daemon.DaemonCodes;
import java.util.List;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Whether the ClickHouse cluster of the configuration can have the tables. */
public final class ClusterCheck {
    private ClusterCheck() {}

    /** Nothing to check without {@code [clickhouse] cluster}. */
    public static void check(ClickHouseClient client, Findings findings) {
        Cluster cluster = client.options().cluster();
        if (cluster == null) {
            return;
        }
        String where = "[clickhouse] cluster = \"" + cluster.name() + "\": ";
        List<@Nullable String[]> shards =
                client.query(
                        "SELECT uniqExact(shard_num), count() FROM system.clusters WHERE cluster = "
                                + Ddl.literal(cluster.name()));
        String count = shards.isEmpty() ? "0" : String.valueOf(shards.getFirst()[0]);
        if (count.equals("0")) {
            findings.add(
                    DaemonCodes.CLUSTER,
                    where
                            + "ClickHouse at "
                            + client.endpoint()
                            + " knows no such cluster; it knows "
                            + names(client)
                            + ". Name one of these, or add it to remote_servers");
            return;
        }
        if (!count.equals("1")) {
            findings.add(
                    DaemonCodes.CLUSTER,
                    where
                            + "expected one shard, found "
                            + count
                            + "; name a cluster whose hosts all have the same data");
        }
        TreeSet<String> missing = new TreeSet<>(List.of("shard", "replica"));
        client.query("SELECT macro FROM system.macros")
                .forEach(row -> missing.remove(String.valueOf(row[0])));
        if (!missing.isEmpty()) {
            findings.add(
                    DaemonCodes.CLUSTER,
                    where
                            + "ClickHouse at "
                            + client.endpoint()
                            + " has no macro "
                            + String.join(", ", missing)
                            + ", from which the place of a replicated table in Keeper is made; add"
                            + " <macros> to its configuration, on each host");
        }
    }

    /** Whether the cluster that Distributed tables read can be that of these shards. */
    public static void distributed(ClickHouseClient client, String name, Findings findings) {
        List<ClickHouseClient> shards = client.shards();
        for (int number = 1; number <= shards.size(); number++) {
            ClickHouseClient shard = shards.get(number - 1);
            @Nullable String[] found =
                    shard.query(
                                    "SELECT uniqExact(shard_num), countIf(shard_weight != 1),"
                                        + " arrayStringConcat(groupUniqArrayIf(toString(shard_num),"
                                        + " is_local), ', ') FROM system.clusters WHERE cluster = "
                                            + Ddl.literal(name))
                            .getFirst();
            String where = "[clickhouse] distributed_cluster = \"" + name + "\": expected ";
            String own = String.valueOf(found[2]);
            if (!String.valueOf(shards.size()).equals(found[0]) || !"0".equals(found[1])) {
                findings.add(
                        DaemonCodes.CLUSTER,
                        where
                                + shards.size()
                                + " shards of weight 1 in the order of [clickhouse] shards, found "
                                + found[0]
                                + ("0".equals(found[1]) ? "" : ", some of another weight")
                                + " at "
                                + shard.endpoint()
                                + "; it knows "
                                + names(shard)
                                + ". Name one of these, or add it to remote_servers");
            } else if (!own.isEmpty() && !own.equals(Integer.toString(number))) {
                findings.add(
                        DaemonCodes.CLUSTER,
                        where
                                + "the order of [clickhouse] shards, in which "
                                + shard.endpoint()
                                + " is number "
                                + number
                                + "; in its remote_servers it is number "
                                + own
                                + ". Before the first start, put [clickhouse] shards into the order"
                                + " of remote_servers; later, remote_servers into that of shards");
            }
        }
    }

    private static String names(ClickHouseClient client) {
        TreeSet<String> names = new TreeSet<>();
        client.query("SELECT DISTINCT cluster FROM system.clusters")
                .forEach(row -> names.add(String.valueOf(row[0])));
        return names.isEmpty() ? "none" : String.join(", ", names);
    }
}
