-- The least that walshadow needs on the source. Run it as a superuser in each database that is followed;
-- set the password afterwards: \password walshadow
CREATE ROLE walshadow LOGIN REPLICATION BYPASSRLS;
GRANT pg_read_all_data TO walshadow;

-- Instead of pg_read_all_data, for some schemas only (the base backup holds all tables all the same):
--   GRANT USAGE ON SCHEMA shop TO walshadow;
--   GRANT SELECT ON ALL TABLES IN SCHEMA shop TO walshadow;
--   ALTER DEFAULT PRIVILEGES FOR ROLE owner IN SCHEMA shop GRANT SELECT ON TABLES TO walshadow;
--
-- BYPASSRLS: loads of single tables and verify stop at tables whose row-level security would hide rows. It can be
-- left out where no table has any.
--
-- pg_hba.conf needs a line for SQL and one for the WAL:
--   hostssl  shop         walshadow  10.0.0.0/8  scram-sha-256
--   hostssl  replication  walshadow  10.0.0.0/8  scram-sha-256
