package dev.walshadow.source;

import dev.walshadow.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.postgresql.PGConnection;

/** Everything that the filter has a rule for, on a real server. */
final class Workload {
    /** Occurs in user data only, wherever a user can put some. */
    static final String CANARY = "CANARY9f3b";

    private Workload() {}

    /** Work whose WAL is not read: some of the catalogs have moved already. */
    static void before(EmbeddedPostgres server) throws SQLException {
        execute(
                server,
                "postgres",
                "create table old_rows(id int primary key, t text)",
                "insert into old_rows select g, '"
                        + CANARY
                        + "' || g from generate_series(1, 500) g",
                "vacuum full pg_index",
                "vacuum full pg_class",
                "reindex table pg_attribute",
                "create database other");
        execute(
                server,
                "other",
                "create table in_other(id int primary key, t text)",
                "insert into in_other select g, '" + CANARY + "' from generate_series(1, 200) g",
                "vacuum full pg_enum",
                "vacuum full pg_attribute",
                "reindex table pg_type");
    }

    static void run(EmbeddedPostgres server, Path tablespace) throws SQLException, IOException {
        rows(server);
        shapes(server);
        subtransactions(server);
        prepared(server);
        rewrites(server);
        indexesAndObjects(server);
        databases(server, tablespace);
        execute(server, "postgres", "create table last_rows(id int)");
        crash(server);
        abortedRecord(server);
        execute(
                server,
                "postgres",
                "create table last_one(id int primary key)",
                "insert into last_one values (1)",
                "checkpoint");
    }

    private static void rows(EmbeddedPostgres server) throws SQLException, IOException {
        try (Connection connection = RealWal.connect(server, "postgres");
                Statement statement = connection.createStatement()) {
            statement.execute(
                    "create table shop(id int primary key, name text, price numeric, big text)");
            for (int i = 0; i < 300; i++) {
                statement.execute(
                        "insert into shop values (" + i + ", '" + CANARY + i + "', 1.5, null)");
            }
            StringBuilder copy = new StringBuilder();
            for (int i = 1000; i < 4000; i++) {
                copy.append(i).append('\t').append(CANARY).append("\t2.5\t\\N\n");
            }
            connection
                    .unwrap(PGConnection.class)
                    .getCopyAPI()
                    .copyIn("copy shop from stdin", new StringReader(copy.toString()));
        }
        execute(
                server,
                "postgres",
                "update shop set price = price + 1 where id < 500",
                "update shop set id = id + 100000 where id between 100 and 150",
                "delete from shop where id between 1000 and 1500",
                "checkpoint",
                "insert into shop select g, 'x', 1, (select string_agg(md5(i::text) || '"
                        + CANARY
                        + "', '') from generate_series(1, 3000) i)"
                        + " from generate_series(200000, 200020) g",
                "update shop set name = name || '!' where id >= 200000",
                "insert into shop values (1, 'c', 1, null) on conflict (id) do update"
                        + " set name = excluded.name",
                "create unlogged table unlogged_rows(id int primary key, t text)",
                "insert into unlogged_rows select g, '"
                        + CANARY
                        + "' from generate_series(1, 100) g",
                "create temp table temporary_rows as select '" + CANARY + "' t",
                "select pg_logical_emit_message(true, 'x', '" + CANARY + "')",
                "select pg_logical_emit_message(false, 'x', repeat('" + CANARY + "', 300000))",
                "vacuum shop",
                "vacuum (freeze) old_rows",
                "truncate old_rows",
                "begin; insert into shop values (300001); rollback");
    }

    private static void shapes(EmbeddedPostgres server) throws SQLException {
        execute(
                server,
                "postgres",
                "create type mood as enum ('sad', 'ok')",
                "alter type mood add value 'happy'",
                "alter type mood rename value 'ok' to 'fine'",
                "create table moody(id int primary key, m mood, k int default 7)",
                "alter table moody add column n bigint not null default 5",
                "alter table moody alter column k type text using k::text",
                "alter table moody drop column n",
                "create schema s1",
                "create table s1.t(a int, b text)",
                "alter schema s1 rename to s2",
                "create type pair as (a int, b text)",
                "alter type pair add attribute c int",
                "create table parts(id int, v text) partition by range (id)",
                "create table parts1 partition of parts for values from (0) to (100)",
                "create function twice(int) returns int language sql as 'select $1 * 2'",
                "create materialized view m as select count(*) from shop",
                "refresh materialized view m",
                "analyze moody",
                "drop table s2.t",
                "create publication everything for all tables",
                "do $$ begin for i in 1..150 loop execute"
                        + " format('create table many%s(id int primary key, t text)', i);"
                        + " end loop; end $$",
                "do $$ begin for i in 1..150 loop execute format('drop table many%s', i);"
                        + " end loop; end $$");
    }

    private static void subtransactions(EmbeddedPostgres server) throws SQLException {
        execute(
                server,
                "postgres",
                "create table subs(id int primary key, t text)",
                "do $$ begin for i in 1..200 loop begin insert into subs values (i, '"
                        + CANARY
                        + "'); if i % 3 = 0 then raise exception 'no'; end if;"
                        + " exception when raise_exception then null; end; end loop; end $$",
                "begin; savepoint a; create table undone(id int); rollback to a;"
                        + " create table done(id int); commit",
                "begin; create table aborted(id int); rollback");
    }

    private static void prepared(EmbeddedPostgres server) throws SQLException {
        execute(
                server,
                "postgres",
                "begin; savepoint s; create table prepared_one(id int); release s;"
                        + " insert into subs values (1001, 'p'); prepare transaction 'one'",
                "begin; create table prepared_two(id int); prepare transaction 'two'",
                "begin; alter table moody add column extra int; prepare transaction 'three'",
                "commit prepared 'one'",
                "rollback prepared 'two'");
        server.restart();
        execute(server, "postgres", "commit prepared 'three'");
    }

    private static void rewrites(EmbeddedPostgres server) throws SQLException {
        execute(
                server,
                "postgres",
                "vacuum full pg_class",
                "vacuum full pg_type",
                "vacuum full pg_enum",
                "vacuum full pg_depend",
                "vacuum full pg_largeobject",
                "begin; lock table pg_index; savepoint a; cluster pg_index using"
                        + " pg_index_indexrelid_index; release a; commit",
                "begin; savepoint a; cluster pg_enum using pg_enum_oid_index; rollback to a;"
                        + " create table beside(id int, t text); insert into beside values (1, '"
                        + CANARY
                        + "'); commit",
                "begin; reindex table pg_namespace; rollback",
                "create type later as enum ('a')",
                "cluster shop using shop_pkey",
                "vacuum full moody",
                "reindex table shop",
                "reindex table pg_class",
                "create table after_rewrites(id int primary key)",
                "reindex system postgres",
                "vacuum full pg_database",
                "vacuum pg_attribute");
    }

    private static void indexesAndObjects(EmbeddedPostgres server) throws SQLException {
        execute(
                server,
                "postgres",
                "create table things(id serial primary key, tags text[], p point, n int, t text)",
                "insert into things(tags, p, n, t) select array['"
                        + CANARY
                        + "', g::text], point(g, g), g, '"
                        + CANARY
                        + "' || g from generate_series(1, 2000) g",
                "create index on things using gin (tags)",
                "create index on things using gist (p)",
                "create index on things using spgist (t)",
                "create index on things using brin (n)",
                "create index on things using hash (t)",
                "insert into things(tags, p, n, t) select array['b', g::text], point(g, 1), g, 'u'"
                        + " || g from generate_series(1, 500) g",
                "delete from things where n % 2 = 0",
                "vacuum things",
                "select lo_from_bytea(0, convert_to(repeat('" + CANARY + "', 5000), 'UTF8'))",
                "checkpoint",
                "update things set n = n + 1");
    }

    private static void databases(EmbeddedPostgres server, Path tablespace) throws SQLException {
        execute(
                server,
                "postgres",
                "create tablespace space1 location '" + tablespace + "'",
                "create table in_space(id int primary key, t text) tablespace space1",
                "insert into in_space values (1, '" + CANARY + "')",
                "create database logged template other strategy wal_log",
                "create database copied template other strategy file_copy",
                "alter database copied set tablespace space1",
                "create database shortlived",
                "drop database shortlived");
        execute(
                server,
                "logged",
                "create type clone_mood as enum ('x')",
                "alter table in_other add column more int",
                "vacuum full pg_attribute");
        execute(
                server,
                "copied",
                "create type clone_mood as enum ('y')",
                "insert into in_other values (7001, '" + CANARY + "')",
                "vacuum full pg_enum");
    }

    /** Transactions in flight end without any record. */
    private static void crash(EmbeddedPostgres server) throws SQLException {
        // neither connection is closed in order: the server dies under them
        Connection open = RealWal.connect(server, "postgres");
        Connection other = RealWal.connect(server, "postgres");
        try (Statement statement = open.createStatement();
                Statement beside = other.createStatement()) {
            open.setAutoCommit(false);
            statement.execute("create table vanished(id int primary key)");
            statement.execute("insert into vanished select generate_series(1, 100)");
            statement.execute("cluster pg_enum using pg_enum_oid_index");
            beside.execute("insert into last_rows values (1)");
            beside.execute("checkpoint");
        }
        server.stopImmediate();
        server.start();
        execute(server, "postgres", "create table after_crash(id int)");
    }

    /** A record whose end never reached the disk: the WAL begins anew inside it. */
    private static void abortedRecord(EmbeddedPostgres server) throws SQLException, IOException {
        execute(server, "postgres", "checkpoint");
        String last;
        try (Connection connection = RealWal.connect(server, "postgres");
                Statement statement = connection.createStatement()) {
            statement.execute(
                    "select pg_logical_emit_message(false, 'x', repeat('" + CANARY + "', 250000))");
            statement.execute("create table lost(id int)");
            last = name(statement, "select pg_walfile_name(pg_current_wal_insert_lsn())");
        }
        server.stopImmediate();
        Path wal = server.dataDirectory().resolve("pg_wal");
        try (Stream<Path> files = Files.list(wal)) {
            List<Path> tail =
                    files.filter(f ->
                                    Objects.requireNonNull(f.getFileName())
                                                    .toString()
                                                    .compareTo(last)
                                            >= 0)
                            .filter(Files::isRegularFile)
                            .toList();
            for (Path file : tail) {
                Files.delete(file);
            }
        }
        server.start();
    }

    private static String name(Statement statement, String sql) throws SQLException {
        try (ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getString(1);
        }
    }

    private static void execute(EmbeddedPostgres server, String database, String... statements)
            throws SQLException {
        try (Connection connection = RealWal.connect(server, database);
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }
}
