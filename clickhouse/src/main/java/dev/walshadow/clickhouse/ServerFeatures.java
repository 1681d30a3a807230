package dev.walshadow.clickhouse;

import java.util.Map;

/**
 * What a server can do, as far as walshadow chooses by it.
 *
 * @param time64 the types Time and Time64 exist
 */
public record ServerFeatures(String version, boolean time64) {
    private static final String TIME64_SETTING = "enable_time_time64_type";

    public static ServerFeatures detect(ClickHouseClient client) {
        String found =
                client.queryValue(
                        "SELECT count() FROM system.settings WHERE name = "
                                + Ddl.literal(TIME64_SETTING));
        return new ServerFeatures(client.serverVersion(), "1".equals(found));
    }

    /** Settings that CREATE and ALTER TABLE need, for {@link ClickHouseClient#execute}. */
    public Map<String, String> ddlSettings() {
        return time64 ? Map.of(TIME64_SETTING, "1") : Map.of();
    }
}
