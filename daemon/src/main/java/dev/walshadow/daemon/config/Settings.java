package dev.walshadow.daemon.config;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Every setting there is. {@code docs/configuration.md} is checked against this list. */
public final class Settings {
    public static final Setting<String> SOURCE_URL =
            required(
                    "source",
                    "url",
                    new Kind<>("postgres://user@host:5432/database", false, true, List::getFirst),
                    "The source:"
                        + " `postgres://user[:password]@host[:port][,host2...]/database[?sslmode=...&sslrootcert=...&passfile=...]`."
                        + " The role needs REPLICATION and CONNECT. Every ordinary table of that"
                        + " database replicates.");
    public static final Setting<String> SOURCE_MODE =
            optional(
                    "source",
                    "mode",
                    Kind.oneOf("stream", "archive"),
                    "stream",
                    "`archive`: there is no connection to the source; the backup and the WAL"
                        + " archive of `[backup] url` are everything. Needs `databases`; `url` is"
                        + " not used.");
    public static final Setting<List<String>> SOURCE_DATABASES =
            optional(
                    "source",
                    "databases",
                    Kind.TEXTS,
                    "[]",
                    "Databases to follow, by name with `*` as wildcard; the one of `url` if empty."
                            + " With more than one entry, or a wildcard, a schema arrives as"
                            + " `<database>_<schema>`.");
    public static final Setting<String> SOURCE_SLOT =
            optional(
                    "source",
                    "slot",
                    Kind.TEXT,
                    "walshadow",
                    "Name of the permanent physical replication slot; created if absent.");
    public static final Setting<Path> SOURCE_PASSWORD_FILE =
            optional(
                    "source",
                    "password_file",
                    Kind.PATH,
                    null,
                    "File whose first line is the source role's password.");
    public static final Setting<Duration> SOURCE_STATUS_INTERVAL =
            optional(
                    "source",
                    "status_interval",
                    Kind.DURATION,
                    "1s",
                    "How often positions are reported to the source.");
    public static final Setting<Integer> SOURCE_COPY_SESSIONS =
            optional(
                    "source",
                    "copy_sessions",
                    Kind.integer(1, 32),
                    "2",
                    "Sessions that read one table of more than 64 MB at the same time when it is"
                            + " loaded anew. Two tables are loaded at a time.");
    public static final Setting<String> CLICKHOUSE_URL =
            required(
                    "clickhouse",
                    "url",
                    new Kind<>("http://host:8123", false, true, List::getFirst),
                    "The target's HTTP interface, `http://[user:password@]host:8123` or https;"
                        + " several replicas as `host:8123,host:8123`, of which the next is used"
                        + " when one cannot serve.");
    public static final Setting<List<String>> CLICKHOUSE_SHARDS =
            optional(
                    "clickhouse",
                    "shards",
                    Kind.urls(),
                    "[]",
                    "In place of `url`: two or more shards, each as in `url`, each with the rows"
                            + " whose keys' hashes are its own. Their number and order stay as they"
                            + " are.");
    public static final Setting<String> CLICKHOUSE_USER =
            optional("clickhouse", "user", Kind.TEXT, "default", "User in ClickHouse.");
    public static final Setting<String> CLICKHOUSE_PASSWORD =
            optional("clickhouse", "password", Kind.SECRET, "", "Password in ClickHouse.");
    public static final Setting<Path> CLICKHOUSE_PASSWORD_FILE =
            optional(
                    "clickhouse",
                    "password_file",
                    Kind.PATH,
                    null,
                    "File whose first line is the ClickHouse user's password.");
    public static final Setting<String> CLICKHOUSE_COMPRESSION =
            optional(
                    "clickhouse",
                    "compression",
                    Kind.oneOf("auto", "lz4", "none"),
                    "auto",
                    "Compression between walshadow and ClickHouse; `auto` is `lz4`, and `none` to"
                            + " an address of this machine.");
    public static final Setting<String> CLICKHOUSE_METADATA_DATABASE =
            optional(
                    "clickhouse",
                    "metadata_database",
                    Kind.TEXT,
                    "walshadow",
                    "Database of the table ledger and the watermark.");
    public static final Setting<String> CLICKHOUSE_DATABASE_PREFIX =
            optional(
                    "clickhouse",
                    "database_prefix",
                    Kind.TEXT,
                    "",
                    "In front of a schema's name in the name of its ClickHouse database.");
    public static final Setting<String> CLICKHOUSE_CLUSTER =
            optional(
                    "clickhouse",
                    "cluster",
                    Kind.TEXT,
                    null,
                    "Name of a ClickHouse cluster of one shard: tables are replicated, and DDL is"
                            + " done on all replicas. Of several `shards` the name of each one's,"
                            + " separated by commas.");
    public static final Setting<String> CLICKHOUSE_DISTRIBUTED_CLUSTER =
            optional(
                    "clickhouse",
                    "distributed_cluster",
                    Kind.TEXT,
                    null,
                    "Name of the ClickHouse cluster that has all `shards`, in their order and of"
                            + " one weight: what the tables of `tables.distributed` read.");
    public static final Setting<String> CLICKHOUSE_QUORUM =
            optional(
                    "clickhouse",
                    "quorum",
                    Kind.quorum(),
                    "auto",
                    "How many replicas of the cluster must have rows before they count as stored;"
                            + " `auto` is the majority. With 0 or 1 a lost replica can take rows"
                            + " with it.");
    public static final Setting<String> TRANSFORM_SALT =
            optional(
                    "transform",
                    "salt",
                    Kind.SECRET,
                    null,
                    "Key of hashed columns; keep it secret and unchanged. Needed where a column's"
                            + " transform is hash.");
    public static final Setting<Path> TRANSFORM_SALT_FILE =
            optional(
                    "transform",
                    "salt_file",
                    Kind.PATH,
                    null,
                    "File whose first line is the salt.");
    public static final Setting<Path> STATE_DIR =
            required(
                    "state",
                    "dir",
                    Kind.PATH,
                    "Directory of everything that survives a restart, the shadow included.");
    public static final Setting<Long> BACKUP_MAX_RATE =
            optional(
                    "backup",
                    "max_rate",
                    Kind.rate(32 << 10, 1 << 30),
                    "0",
                    "Most bytes of the initial load's base backup that the source sends in a"
                            + " second; 0: as fast as it can.");
    public static final Setting<Long> WAL_SPOOL_MAX =
            optional(
                    "wal",
                    "spool_max",
                    Kind.BYTES,
                    "0",
                    "Most of the source's WAL to keep in the state directory, so that the source"
                            + " need not keep it while ClickHouse is away or a transaction lasts;"
                            + " 0: none. Four of the source's segments at least.");
    public static final Setting<String> BACKUP_URL =
            optional(
                    "backup",
                    "url",
                    Kind.TEXT,
                    null,
                    "Where wal-g keeps backups and archived WAL: `file:///directory`,"
                        + " `s3://bucket/prefix`, `gs://bucket/prefix` or"
                        + " `azure://container/prefix`, as its WALG_..._PREFIX says. WAL that the"
                        + " source has removed is read from there. Credentials: docs/backup.md.");
    public static final Setting<String> BACKUP_NAME =
            optional(
                    "backup",
                    "name",
                    Kind.TEXT,
                    "LATEST",
                    "The backup that the first attach loads, as `wal-g backup-list` prints it;"
                            + " `LATEST`: the newest.");
    public static final Setting<String> BACKUP_INITIAL_LOAD =
            optional(
                    "backup",
                    "initial_load",
                    Kind.oneOf("source", "object_store"),
                    "source",
                    "What the first attach loads: a base backup that the source makes for it, or"
                            + " the one in `backup.url`, which costs the source nothing.");
    public static final Setting<String> SHADOW_USER =
            optional(
                    "shadow",
                    "user",
                    Kind.TEXT,
                    null,
                    "Operating system user that runs the shadow when walshadow runs as root;"
                            + " `postgres` if it exists, else `nobody`.");
    public static final Setting<Path> SHADOW_BINARIES =
            optional(
                    "shadow",
                    "binaries",
                    Kind.PATH,
                    null,
                    "Directory with `postgres` and `pg_ctl` of the source's major version; the"
                            + " system's, else the bundled ones, if unset.");
    public static final Setting<List<String>> TABLES_INCLUDE =
            optional(
                    "tables",
                    "include",
                    Kind.TEXTS,
                    "[\"*\"]",
                    "Tables to replicate, `schema.table` with `*` as wildcard; with several"
                            + " databases also `database.schema.table`.");
    public static final Setting<List<String>> TABLES_EXCLUDE =
            optional(
                    "tables",
                    "exclude",
                    Kind.TEXTS,
                    "[]",
                    "Tables to leave out, same form; wins over include.");
    public static final Setting<String> TABLES_PARTITIONS =
            optional(
                    "tables",
                    "partitions",
                    Kind.oneOf("root", "leaf"),
                    "root",
                    "How a partitioned table arrives: as one table under its own name, or each"
                            + " partition as a table of its own.");
    public static final Setting<String> TABLES_ON_DETACH =
            optional(
                    "tables",
                    "on_detach",
                    Kind.oneOf("remove", "retain"),
                    "remove",
                    "What becomes of a partition's rows in the partitioned table's table when the"
                            + " partition is detached, dropped or truncated: they go, as on the"
                            + " source, or they stay.");
    public static final Setting<String> TABLES_ON_DROP =
            optional(
                    "tables",
                    "on_drop",
                    Kind.oneOf("retain", "warn", "drop"),
                    "retain",
                    "What becomes of a table in ClickHouse that is dropped on the source: its rows"
                            + " stay, they stay and a warning is logged, or it is dropped too.");
    public static final Setting<String> TABLES_VIEWS =
            optional(
                    "tables",
                    "views",
                    Kind.viewNames(),
                    "",
                    "Name of a view of each table's current rows (`FINAL`, without walshadow's own"
                            + " columns), which follows its table: `{database}.{table}_current`,"
                            + " `{database}_current.{table}` or the like; none if empty.");
    public static final Setting<String> TABLES_DISTRIBUTED =
            optional(
                    "tables",
                    "distributed",
                    Kind.viewNames(),
                    "",
                    "Of several shards: name of a Distributed table beside each table, on each"
                            + " shard, which reads all of them and follows its table:"
                            + " `{database}.{table}_all` or the like; none if empty.");
    public static final Setting<String> TABLES_ON_EXISTING =
            optional(
                    "tables",
                    "on_existing",
                    Kind.oneOf("refuse", "empty", "replace"),
                    "refuse",
                    "What becomes of a table in ClickHouse that is where one of walshadow's is to"
                        + " be: nothing, and the attach is refused with the differences; it is"
                        + " emptied and used as it is defined, if it has the right columns and key"
                        + " (first attach only); or it is kept as `<name>_replaced`, and one is"
                        + " made. One that is empty and fits is used in any case.");
    public static final Setting<String> TABLES_OVERSIZED =
            optional(
                    "tables",
                    "oversized",
                    Kind.oneOf("quarantine", "null", "truncate"),
                    "quarantine",
                    "What becomes of a value beyond `memory.value`: its table is set aside, it"
                            + " arrives as NULL, or text and bytea arrive cut off (anything else as"
                            + " NULL). Of a key, the table is always set aside.");
    public static final Setting<List<String>> TABLES_APPEND =
            optional(
                    "tables",
                    "append",
                    Kind.TEXTS,
                    "[]",
                    "Tables that keep every version of their rows in ClickHouse, deletions among"
                            + " them: the history of their changes. Same form as include.");
    public static final Setting<String> TABLES_INITIAL_LOAD =
            optional(
                    "tables",
                    "initial_load",
                    Kind.oneOf("copy", "none"),
                    "copy",
                    "How the existing rows of tables that are added later arrive: read from the"
                            + " source, or not at all. The first attach loads all tables from its"
                            + " base backup.");
    public static final Setting<String> TOAST_MODE =
            optional(
                    "toast",
                    "mode",
                    Kind.oneOf("destination", "clickhouse", "disabled"),
                    "destination",
                    "Where an UPDATE's unchanged toasted values come from: the row's previous"
                            + " version in ClickHouse, copies of the TOAST relations kept in"
                            + " ClickHouse, or nowhere (NULL, counted).");
    public static final Setting<Integer> BATCH_ROWS =
            optional(
                    "batch",
                    "rows",
                    Kind.integer(1, 10_000_000),
                    "131072",
                    "A table's batch is sent when it holds this many rows.");
    public static final Setting<Long> BATCH_BYTES =
            optional(
                    "batch",
                    "bytes",
                    Kind.BYTES,
                    "16MB",
                    "A table's batch is sent when its columns hold this many bytes.");
    public static final Setting<Duration> BATCH_AGE =
            optional(
                    "batch",
                    "age",
                    Kind.DURATION,
                    "100ms",
                    "A table's batch is sent at the latest when it is this old, sooner when the"
                            + " stream is idle.");
    public static final Setting<Integer> PIPELINE_DECODERS =
            optional(
                    "pipeline",
                    "decoders",
                    Kind.integer(1, 64),
                    "2",
                    "Threads that decode tuples into columns.");
    public static final Setting<Integer> PIPELINE_INSERTERS =
            optional(
                    "pipeline",
                    "inserters",
                    Kind.integer(1, 64),
                    "4",
                    "INSERTs in flight at the same time.");
    public static final Setting<Long> MEMORY_TRANSACTIONS =
            optional(
                    "memory",
                    "transactions",
                    Kind.BYTES,
                    "128MB",
                    "Raw records of open transactions kept in memory; more spills to disk.");
    public static final Setting<Long> MEMORY_BATCHES =
            optional(
                    "memory",
                    "batches",
                    Kind.BYTES,
                    "128MB",
                    "Column batches that are open or not yet acknowledged by ClickHouse.");
    public static final Setting<Long> MEMORY_VALUE =
            optional(
                    "memory",
                    "value",
                    Kind.BYTES,
                    "32MB",
                    "Largest value that arrives exact, and largest sum of a row's values out of"
                            + " line; at most a fifth of the heap's part for large objects."
                            + " `tables.oversized` says what becomes of larger ones.");
    public static final Setting<Long> MEMORY_RECENT_VALUES =
            optional(
                    "memory",
                    "recent_values",
                    Kind.BYTES,
                    "112MB",
                    "Large values that are kept for updates that leave them unchanged; others are"
                            + " fetched back from ClickHouse.");
    public static final Setting<InetSocketAddress> HTTP_LISTEN =
            optional(
                    "http",
                    "listen",
                    Kind.ADDRESS,
                    null,
                    "Where status page and metrics are served, without authentication: keep it on"
                            + " `127.0.0.1`, and let a proxy with a login stand before it for"
                            + " others. Port 0: any free one, told in the log. Unset: nowhere.");
    public static final Setting<Path> HTTP_TOKEN_FILE =
            optional(
                    "http",
                    "token_file",
                    Kind.PATH,
                    null,
                    "File whose first line is a secret of 16 characters or more: whoever sends it"
                            + " may pause, resume and change tables by HTTP. Unset: by HTTP one can"
                            + " only look.");
    public static final Setting<Duration> SOURCE_POLL_INTERVAL =
            optional(
                    "source",
                    "poll_interval",
                    Kind.DURATION,
                    "10s",
                    "How often the source is asked for its position and the state of the slot, by"
                            + " one query.");

    /** What {@code source.signals} may name. */
    public static final List<String> SIGNAL_COMMANDS =
            List.of("flush", "ignore", "pause", "resume", "watermark");

    public static final Setting<List<String>> SOURCE_SIGNALS =
            optional(
                    "source",
                    "signals",
                    Kind.someOf(SIGNAL_COMMANDS),
                    "[]",
                    "Which commands are obeyed that arrive in the stream itself, by"
                            + " `pg_logical_emit_message(..., 'walshadow', ...)`. Whoever may call"
                            + " that function in a followed database can give them.");
    public static final Setting<String> TRACES_URL =
            optional(
                    "traces",
                    "url",
                    Kind.HTTP_URL,
                    null,
                    "Where traces of sampled transactions are sent, by OTLP over HTTP, e.g."
                            + " `http://127.0.0.1:4318/v1/traces`. Unset: nowhere.");
    public static final Setting<Integer> TRACES_PER_MINUTE =
            optional(
                    "traces",
                    "per_minute",
                    Kind.integer(1, 6_000),
                    "60",
                    "Most transactions that are traced: the first after each interval.");
    public static final Setting<Duration> TOMBSTONES_INTERVAL =
            optional(
                    "tombstones",
                    "interval",
                    Kind.DURATION,
                    "0s",
                    "How often tombstones of deleted rows, and the rows that they hide, are removed"
                            + " from ClickHouse for good, those that an interval before could not"
                            + " come again any more; 0s: never, since it writes parts of tables"
                            + " anew.");
    public static final Setting<Integer> TOMBSTONES_PERCENT =
            optional(
                    "tombstones",
                    "percent",
                    Kind.integer(0, 100),
                    "5",
                    "How many of a table's rows must be such tombstones, in percent; else it is"
                            + " left as it is.");
    public static final Setting<Duration> VERIFY_INTERVAL =
            optional(
                    "verify",
                    "interval",
                    Kind.DURATION,
                    "0s",
                    "How often some rows of a random table are compared with the source, while the"
                            + " stream goes on; 0s: never, since it asks the source for rows.");
    public static final Setting<Integer> VERIFY_ROWS =
            optional(
                    "verify",
                    "rows",
                    Kind.integer(1, 100_000),
                    "1000",
                    "How many rows are compared each time, at most, on each side.");
    public static final Setting<String> SOURCE_CONFIG_SCHEMA =
            optional(
                    "source",
                    "config_schema",
                    Kind.TEXT,
                    null,
                    "Schema in the database of `url` whose tables `config_settings` and"
                            + " `config_tables` are obeyed, each change at its commit. Whoever may"
                            + " write to them decides. Unset: none.");
    public static final Setting<String> LOG_LEVEL =
            optional(
                    "log",
                    "level",
                    Kind.oneOf("error", "warn", "info", "debug", "trace"),
                    "info",
                    "Least severe level that is logged (to standard error).");
    public static final Setting<String> LOG_FORMAT =
            optional(
                    "log",
                    "format",
                    Kind.oneOf("text", "json"),
                    "text",
                    "Lines for people, or a JSON object per line.");

    private static final List<Setting<?>> ALL =
            List.of(
                    SOURCE_URL,
                    SOURCE_MODE,
                    SOURCE_DATABASES,
                    SOURCE_SLOT,
                    SOURCE_PASSWORD_FILE,
                    SOURCE_STATUS_INTERVAL,
                    SOURCE_COPY_SESSIONS,
                    SOURCE_POLL_INTERVAL,
                    SOURCE_SIGNALS,
                    SOURCE_CONFIG_SCHEMA,
                    CLICKHOUSE_URL,
                    CLICKHOUSE_SHARDS,
                    CLICKHOUSE_USER,
                    CLICKHOUSE_PASSWORD,
                    CLICKHOUSE_PASSWORD_FILE,
                    CLICKHOUSE_COMPRESSION,
                    CLICKHOUSE_METADATA_DATABASE,
                    CLICKHOUSE_DATABASE_PREFIX,
                    CLICKHOUSE_CLUSTER,
                    CLICKHOUSE_DISTRIBUTED_CLUSTER,
                    CLICKHOUSE_QUORUM,
                    STATE_DIR,
                    WAL_SPOOL_MAX,
                    BACKUP_MAX_RATE,
                    BACKUP_URL,
                    BACKUP_NAME,
                    BACKUP_INITIAL_LOAD,
                    SHADOW_USER,
                    SHADOW_BINARIES,
                    TABLES_INCLUDE,
                    TABLES_EXCLUDE,
                    TABLES_PARTITIONS,
                    TABLES_ON_DETACH,
                    TABLES_ON_DROP,
                    TABLES_ON_EXISTING,
                    TABLES_VIEWS,
                    TABLES_DISTRIBUTED,
                    TABLES_OVERSIZED,
                    TABLES_APPEND,
                    TABLES_INITIAL_LOAD,
                    TRANSFORM_SALT,
                    TRANSFORM_SALT_FILE,
                    TOAST_MODE,
                    BATCH_ROWS,
                    BATCH_BYTES,
                    BATCH_AGE,
                    PIPELINE_DECODERS,
                    PIPELINE_INSERTERS,
                    MEMORY_TRANSACTIONS,
                    MEMORY_BATCHES,
                    MEMORY_VALUE,
                    MEMORY_RECENT_VALUES,
                    HTTP_LISTEN,
                    HTTP_TOKEN_FILE,
                    TRACES_URL,
                    TRACES_PER_MINUTE,
                    TOMBSTONES_INTERVAL,
                    TOMBSTONES_PERCENT,
                    VERIFY_INTERVAL,
                    VERIFY_ROWS,
                    LOG_LEVEL,
                    LOG_FORMAT);

    /** What {@code reload} applies while the daemon runs; everything else needs a restart. */
    static final Set<Setting<?>> LIVE =
            Set.of(
                    CLICKHOUSE_URL,
                    CLICKHOUSE_USER,
                    CLICKHOUSE_PASSWORD,
                    CLICKHOUSE_PASSWORD_FILE,
                    CLICKHOUSE_COMPRESSION,
                    BATCH_ROWS,
                    BATCH_BYTES,
                    BATCH_AGE,
                    SOURCE_POLL_INTERVAL,
                    HTTP_TOKEN_FILE,
                    TOMBSTONES_INTERVAL,
                    TOMBSTONES_PERCENT,
                    VERIFY_INTERVAL,
                    VERIFY_ROWS,
                    LOG_LEVEL);

    /**
     * What {@code config_settings} in the source may set: what is live, but no address, no
     * credentials.
     */
    static final List<Setting<?>> FROM_SOURCE =
            List.of(
                    CLICKHOUSE_COMPRESSION,
                    BATCH_ROWS,
                    BATCH_BYTES,
                    BATCH_AGE,
                    SOURCE_POLL_INTERVAL,
                    TOMBSTONES_INTERVAL,
                    TOMBSTONES_PERCENT,
                    VERIFY_INTERVAL,
                    VERIFY_ROWS,
                    LOG_LEVEL);

    private Settings() {}

    public static List<Setting<?>> all() {
        return ALL;
    }

    private static <T> Setting<T> required(
            String section, String name, Kind<T> kind, String meaning) {
        return new Setting<>(section, name, kind, null, true, meaning);
    }

    private static <T> Setting<T> optional(
            String section,
            String name,
            Kind<T> kind,
            @Nullable String defaultText,
            String meaning) {
        return new Setting<>(section, name, kind, defaultText, false, meaning);
    }
}
