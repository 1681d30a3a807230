package dev.walshadow.daemon.replication;

import java.util.List;
import java.util.Map;

/**
 * What somebody asks of tables while the stream goes on. Names are as {@code status} shows them.
 */
public sealed interface TableRequest {
    List<String> names();

    /** Tables that are left out are to be followed. */
    record Add(List<String> names) implements TableRequest {}

    /**
     * Tables are not to be followed any more.
     *
     * @param drop their tables in ClickHouse go too
     */
    record Remove(List<String> names, boolean drop) implements TableRequest {}

    /**
     * What a table in the source says of tables, whether they are there or not.
     *
     * @param wishes whether to follow one; absent: as the configuration says
     */
    record Declared(List<String> names, Map<String, Boolean> wishes) implements TableRequest {}

    /** Tables are to be loaded from the source, whatever their state. */
    record Resync(List<String> names) implements TableRequest {}
}
