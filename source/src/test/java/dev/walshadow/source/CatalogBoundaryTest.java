package dev.walshadow.source;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which statements of real servers are boundaries, and what these say. */
class CatalogBoundaryTest {
    @ParameterizedTest
    @ValueSource(ints = {15, 16, 17, 18})
    void tellsShapeChangesFromEverythingElse(int major) throws Exception {
        try (LiveWal wal = new LiveWal(major)) {
            wal.execute(
                    "create table t(id int primary key, v text)",
                    "create type mood as enum ('a')",
                    "create schema s");
            wal.boundariesOf("checkpoint");
            shapes(wal);
            nothing(wal);
            transactions(wal);
            temporary(wal);
            neverCaptured(wal);
            indexes(wal);
            inPlace(wal);
            if (major < 18) {
                hidden(wal);
            }
            rewritten(wal);
        }
    }

    private static void shapes(LiveWal wal) throws Exception {
        int table = wal.oid("t");
        LiveWal.Boundary added = only(wal.boundariesOf("alter table t add column n int"));
        assertThat(added.relations()).contains(table);
        assertThat(added.catalogs() & (Catalogs.CLASS | Catalogs.ATTRIBUTE))
                .isEqualTo(Catalogs.CLASS | Catalogs.ATTRIBUTE);
        assertThat(added.databaseOid()).isEqualTo(5);
        assertThat(added.nextLsn()).isGreaterThan(added.commitLsn());
        assertThat(added.allTypes()).isFalse();
        LiveWal.Boundary created = only(wal.boundariesOf("create table u(id int primary key)"));
        assertThat(created.relations()).contains(wal.oid("u"), wal.oid("u_pkey"));
        assertThat(created.onlyTemporary()).isFalse();
        assertThat(only(wal.boundariesOf("truncate t")).relations()).contains(table);
        LiveWal.Boundary label = only(wal.boundariesOf("alter type mood rename value 'a' to 'b'"));
        assertThat(label.allTypes()).isTrue();
        assertThat(only(wal.boundariesOf("alter type mood add value 'c'")).allTypes()).isTrue();
        assertThat(only(wal.boundariesOf("alter schema s rename to s2")).allNames()).isTrue();
        assertThat(only(wal.boundariesOf("alter table t replica identity full")).relations())
                .contains(table);
        assertThat(only(wal.boundariesOf("drop table u"))).isNotNull();
    }

    private static void nothing(LiveWal wal) throws Exception {
        assertThat(
                        wal.boundariesOf(
                                "insert into t(id, v) values (1, 'a'), (2, 'b')",
                                "update t set v = 'c'",
                                "delete from t where id = 1",
                                "analyze t",
                                "vacuum t",
                                "create function f() returns int language sql as 'select 1'",
                                "comment on table t is 'x'",
                                "grant select on t to public",
                                "revoke select on t from public",
                                "alter table t set (fillfactor = 90)",
                                "vacuum analyze t",
                                "create role nobody",
                                "create publication p for all tables",
                                "alter table t set (autovacuum_enabled = off)",
                                "create schema new_one",
                                "select pg_logical_emit_message(true, 'a', 'b')",
                                "checkpoint"))
                .isEmpty();
    }

    private static void transactions(LiveWal wal) throws Exception {
        assertThat(wal.boundariesOf("begin; create table gone(id int); rollback")).isEmpty();
        assertThat(
                        wal.boundariesOf(
                                "begin; savepoint a; create table gone(id int); rollback to a;"
                                        + " insert into t(id) values (10); commit"))
                .isEmpty();
        LiveWal.Boundary sub =
                only(
                        wal.boundariesOf(
                                "begin; insert into t(id) values (11); savepoint a; create table"
                                        + " kept(id int); release a; commit"));
        assertThat(sub.relations()).contains(wal.oid("kept"));
        assertThat(wal.boundariesOf("begin; create table two(id int); prepare transaction 'x'"))
                .isEmpty();
        LiveWal.Boundary second = only(wal.boundariesOf("commit prepared 'x'"));
        assertThat(second.relations()).contains(wal.oid("two"));
        assertThat(
                        wal.boundariesOf(
                                "begin; create table three(id int); prepare transaction 'y'",
                                "rollback prepared 'y'"))
                .isEmpty();
    }

    private static void temporary(LiveWal wal) throws Exception {
        // the session's end drops the table: a boundary of its own
        assertThat(wal.boundariesOf("create temp table x(id int)"))
                .isNotEmpty()
                .allMatch(LiveWal.Boundary::onlyTemporary);
        // the row is inside a page image now, not in the record's data
        wal.execute("checkpoint");
        assertThat(wal.boundariesOf("create temp table y(id int primary key, t text)"))
                .isNotEmpty()
                .allMatch(LiveWal.Boundary::onlyTemporary);
        assertThat(
                        wal.boundariesOf(
                                "begin; create temp table z(id int); create table"
                                        + " beside(id int); commit"))
                .anyMatch(boundary -> !boundary.onlyTemporary());
        assertThat(
                        wal.boundariesOf(
                                "begin; create temp table z(id int); alter type mood rename"
                                        + " value 'c' to 'd'; commit"))
                .anyMatch(boundary -> !boundary.onlyTemporary());
    }

    private static void neverCaptured(LiveWal wal) throws Exception {
        assertThat(
                        wal.boundariesOf(
                                "create view v as select * from t",
                                "create or replace view v as select id, v, n, 1 as one from t",
                                "grant select on v to public",
                                "drop view v",
                                "begin; create temp table a(id int primary key, x text); create"
                                        + " index on a(x); commit; truncate a; alter table a add y"
                                        + " text; drop table a; create temp table b(z text)"))
                .isNotEmpty()
                .allMatch(LiveWal.Boundary::onlyTemporary);
        for (String statement :
                List.of("create sequence q", "alter sequence q increment 5", "drop sequence q")) {
            assertThat(only(wal.boundariesOf(statement)).onlyTemporary()).as(statement).isFalse();
        }
        wal.execute("create type pair as (a int)", "create table keeper(p pair)");
        wal.boundariesOf("checkpoint");
        assertThat(
                        wal.boundariesOf(
                                "begin; create temp table z(id int); alter type pair add"
                                        + " attribute b int; commit"))
                .anyMatch(boundary -> !boundary.onlyTemporary());
        assertThat(only(wal.boundariesOf("alter type pair add attribute c int")).onlyTemporary())
                .isFalse();
        // moves the row to another page or logs an image: unknown, so it holds
        wal.execute("checkpoint");
        assertThat(wal.boundariesOf("alter table t replica identity default")).hasSize(1);
    }

    private static void indexes(LiveWal wal) throws Exception {
        wal.execute("create table w(id int not null, v text)", "create index seen on w(v)");
        // rows are inside page images now
        wal.boundariesOf("checkpoint");
        assertThat(
                        wal.boundariesOf(
                                "create index on w(v)",
                                "create index on w using hash (v)",
                                "create index concurrently slow on w(v)",
                                "begin; create index a on w(v); savepoint s; create index b on"
                                        + " w(v) where id > 0; rollback to s; insert into w"
                                        + " values (1, 'a'); commit",
                                "create index on w(lower(v))",
                                "comment on index slow is 'x'"))
                .isEmpty();
        int table = wal.oid("w");
        for (String sql :
                List.of(
                        "create unique index on w(id)",
                        "create unique index concurrently late on w(id)",
                        "alter table w add primary key (id)",
                        "begin; create index on w(v); alter table w add column c int; commit",
                        "begin; create index on w(v); truncate w; commit",
                        "drop index a",
                        "reindex index concurrently seen")) {
            assertThat(wal.boundariesOf(sql))
                    .as(sql)
                    .anyMatch(boundary -> boundary.relations().contains(table));
        }
        wal.execute(
                "create table root(id int) partition by range (id)",
                "create table leaf partition of root for values from (1) to (9)");
        wal.boundariesOf("checkpoint");
        assertThat(wal.boundariesOf("create index on root(id)")).isNotEmpty();
    }

    /** What of a table that is left out need not be read at once. */
    private static void inPlace(LiveWal wal) throws Exception {
        wal.execute(
                "create table aside(id int not null, v text, n int not null)",
                "insert into aside select i, 'v', i from generate_series(1, 9) i",
                "create unique index before on aside(id)");
        wal.boundariesOf("checkpoint");
        int table = wal.oid("aside");
        wal.stream().knowIndex(5, wal.oid("before"), table);
        for (String sql :
                List.of(
                        "create unique index plain on aside(id)",
                        "create unique index concurrently belated on aside(n)",
                        "reindex index concurrently before",
                        "reindex index concurrently belated",
                        "alter table aside add primary key (id)",
                        "alter table aside replica identity using index plain",
                        "alter table aside replica identity default",
                        "alter table aside add column a int",
                        "alter table aside alter column v set not null",
                        "alter table aside rename column a to b",
                        "alter table aside drop column b",
                        "alter table aside drop constraint aside_pkey",
                        "drop index concurrently belated",
                        "begin; drop index plain; alter table aside replica identity full; commit",
                        "drop index before")) {
            assertThat(wal.boundariesOf(sql))
                    .as(sql)
                    .isNotEmpty()
                    .allMatch(LiveWal.Boundary::onlyInPlace)
                    .allMatch(each -> List.of(table).containsAll(each.unknownIndexes()))
                    .anyMatch(each -> each.relations().contains(table));
        }
        wal.execute(
                "create index old on aside(v)",
                "create table whole(id int primary key) partition by range (id)",
                "create table part(id int primary key)");
        wal.boundariesOf("checkpoint");
        for (String sql :
                List.of(
                        "alter table aside rename to renamed",
                        "alter table renamed set schema s2",
                        "alter table s2.renamed set schema public",
                        "begin; create unique index i on renamed(id); alter table renamed rename"
                                + " to aside; commit",
                        "truncate aside",
                        "vacuum full aside",
                        "alter table aside alter column n type bigint",
                        "alter table aside alter column v type text using v || 'x'",
                        "create table new(id int)",
                        "begin; create table newer(id int); create unique index on aside(n);"
                                + " commit",
                        "begin; create unique index on aside(v); alter type mood add value 'n';"
                                + " commit",
                        "alter table whole attach partition part for values from (1) to (9)",
                        "alter table whole detach partition part",
                        "drop table aside",
                        "alter schema s2 rename to s3")) {
            assertThat(wal.boundariesOf(sql)).as(sql).anyMatch(boundary -> !boundary.onlyInPlace());
        }
    }

    /** The row that is updated is inside a page image. */
    private static void hidden(LiveWal wal) throws Exception {
        wal.boundariesOf("create table full_page(id int not null)", "checkpoint");
        assertThat(only(wal.boundariesOf("alter table full_page add column a int")).onlyInPlace())
                .isFalse();
    }

    /** The catalogs lie under numbers of the user range now. */
    private static void rewritten(LiveWal wal) throws Exception {
        wal.boundariesOf(
                "vacuum full pg_class",
                "vacuum full pg_attribute",
                "vacuum full pg_enum",
                "vacuum full pg_type",
                "vacuum full pg_statistic");
        assertThat(only(wal.boundariesOf("alter table t add column late int")).relations())
                .contains(wal.oid("t"));
        assertThat(only(wal.boundariesOf("alter type mood add value 'late'")).allTypes()).isTrue();
        assertThat(wal.boundariesOf("analyze t", "insert into t(id) values (99)")).isEmpty();
        wal.boundariesOf("vacuum full pg_index");
        assertThat(wal.boundariesOf("create index on t(v)", "create index concurrently on t(n)"))
                .isEmpty();
        assertThat(wal.boundariesOf("create unique index on t(id)")).isNotEmpty();
    }

    /** Besides the end of an earlier session, which drops its temporary tables. */
    private static LiveWal.Boundary only(List<LiveWal.Boundary> boundaries) {
        List<LiveWal.Boundary> others =
                boundaries.stream().filter(boundary -> !boundary.onlyTemporary()).toList();
        assertThat(others).hasSize(1);
        return others.getFirst();
    }
}
