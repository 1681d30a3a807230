-- The least that walshadow needs in ClickHouse, for the source's schemas public and shop. Run it as an administrator;
-- the user comes with a password hash of its own:
CREATE ROLE IF NOT EXISTS walshadow_writer;

-- its own ledger and watermark
GRANT ALL ON walshadow.* TO walshadow_writer;

-- a database for each schema of the source, and the tables in it
GRANT CREATE DATABASE, CREATE TABLE, DROP TABLE, ALTER, TRUNCATE, INSERT, SELECT, SHOW ON public.* TO walshadow_writer;
GRANT CREATE DATABASE, CREATE TABLE, DROP TABLE, ALTER, TRUNCATE, INSERT, SELECT, SHOW ON shop.* TO walshadow_writer;

-- with [tables] views, besides, on the databases that the views are in:
--   GRANT CREATE DATABASE, CREATE VIEW, DROP VIEW ON public.* TO walshadow_writer;

-- what it looks at
GRANT SELECT ON system.tables TO walshadow_writer;
GRANT SELECT ON system.columns TO walshadow_writer;
GRANT SELECT ON system.mutations TO walshadow_writer;
GRANT SELECT ON system.settings TO walshadow_writer;
GRANT SELECT ON system.data_type_families TO walshadow_writer;

CREATE USER IF NOT EXISTS walshadow IDENTIFIED WITH sha256_password BY 'change me' DEFAULT ROLE walshadow_writer;
GRANT walshadow_writer TO walshadow;

-- with [clickhouse] cluster, besides (and each statement above with ON CLUSTER):
--   GRANT CLUSTER ON *.* TO walshadow_writer;
--   GRANT SELECT ON system.clusters TO walshadow_writer;
--   GRANT SELECT ON system.macros TO walshadow_writer;

-- with [tables] distributed, besides:
--   GRANT REMOTE ON *.* TO walshadow_writer;
