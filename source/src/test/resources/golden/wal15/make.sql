-- PostgreSQL 15.18 (Debian), initdb --wal-segsize=1 --locale=C.UTF-8, wal_level=logical,
-- max_prepared_transactions=5, autovacuum=off, wal_compression=lz4; then pg_switch_wal() and this
-- file by psql. segment.gz is the segment in use then, waldump.txt.gz the output of pg_waldump 15.18.
create table shop(id int primary key, name text, tags text[], p point);
create index on shop using gin (tags);
create index on shop using gist (p);
create index on shop using hash (name);
create index on shop using brin (id);
create index on shop using spgist (name);
insert into shop select g, 'row ' || g, array['a', g::text], point(g, g) from generate_series(1, 200) g;
copy (select g, 'copied ' || g, array['b'], point(g, 1) from generate_series(1001, 1100) g) to '/tmp/golden/rows';
copy shop from '/tmp/golden/rows';
update shop set name = name || '!' where id < 50;
delete from shop where id between 60 and 90;
begin; savepoint a; insert into shop values (5001, 'undone', null, null); rollback to a; insert into shop values (5002, 'done', null, null); commit;
begin; create table prepared(id int); prepare transaction 'one';
commit prepared 'one';
create type mood as enum ('sad', 'ok');
alter table shop add column m mood default 'ok';
create sequence numbers; select nextval('numbers');
vacuum shop;
truncate prepared;
select pg_logical_emit_message(true, 'x', 'message');
select lo_from_bytea(0, '\x0102');
vacuum full pg_enum;
drop table prepared;
checkpoint;
