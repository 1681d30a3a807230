package dev.walshadow.pipeline;

import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.mapping.TableShape;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tables in ClickHouse that are where a first attach wants its own, after {@link AttachCheck} has
 * found nothing in the way: what {@link TargetOptions.OnExisting} asks for is done to them.
 */
final class ExistingTables {
    private static final Logger LOG = LoggerFactory.getLogger(ExistingTables.class);

    private final ClickHouseClient client;
    private final TargetOptions.OnExisting policy;

    ExistingTables(ClickHouseClient client, TargetOptions.OnExisting policy) {
        this.client = client;
        this.policy = policy;
    }

    /** Of these targets, those that exist. */
    static Set<TargetName> among(ClickHouseClient client, Set<TargetName> targets) {
        Set<TargetName> found = new HashSet<>();
        for (String database :
                targets.stream().map(TargetName::database).collect(Collectors.toSet())) {
            client.query("SELECT name FROM system.tables WHERE database = " + Ddl.literal(database))
                    .forEach(row -> found.add(new TargetName(database, String.valueOf(row[0]))));
        }
        found.retainAll(targets);
        return found;
    }

    /**
     * Before anything is made, or named in the ledger.
     *
     * @param ours of an attach that was not finished: the caller drops what is not returned
     * @return those of the tables that exist, empty and in shape, and become ours
     */
    List<TargetTable> takeOver(List<TargetTable> wanted, Set<TargetName> ours) {
        Set<TargetName> names =
                wanted.stream()
                        .map(table -> TargetName.of(table.mapped()))
                        .collect(Collectors.toSet());
        Set<TargetName> existing = among(client, names);
        if (policy != TargetOptions.OnExisting.EMPTY) {
            existing.removeAll(ours); // else one of them may have been there before that attach
        }
        List<TargetTable> taken = new ArrayList<>();
        for (TargetTable table : wanted) {
            TargetName name = TargetName.of(table.mapped());
            if (existing.contains(name) && takeOver(table, name)) {
                taken.add(table);
            }
        }
        return taken;
    }

    private boolean takeOver(TargetTable table, TargetName name) {
        TableShape shape = TableShape.read(client, name.database(), name.table());
        boolean fits = shape != null && table.mapped().differences(shape).isEmpty();
        boolean filled = isFilled(client, name);
        return switch (policy) {
            case REFUSE -> fits && !filled;
            case EMPTY -> fits && empty(table, name, filled);
            case REPLACE -> {
                boolean stays = fits && !filled;
                if (!stays) {
                    moveAside(client, name, "_replaced");
                }
                yield stays;
            }
        };
    }

    private boolean empty(TargetTable table, TargetName name, boolean filled) {
        if (filled) {
            LOG.warn("{} is emptied, for {} to arrive in it", name, table.label());
            client.execute(Ddl.truncateTable(name.database(), name.table()));
        }
        return true;
    }

    static boolean isFilled(ClickHouseClient client, TargetName name) {
        return client.queryValue("SELECT 1 FROM " + name.quoted() + " LIMIT 1") != null;
    }

    /** Keeps the table under the first such name that is free. */
    static void moveAside(ClickHouseClient client, TargetName name, String suffix) {
        TargetName free = new TargetName(name.database(), name.table() + suffix);
        for (int i = 2; !among(client, Set.of(free)).isEmpty(); i++) {
            free = new TargetName(name.database(), name.table() + suffix + "_" + i);
        }
        LOG.warn("{} makes room, and is kept as {}", name, free);
        client.execute("RENAME TABLE " + name.quoted() + " TO " + free.quoted());
    }
}
