#!/bin/sh
# Runs once in the new source of the demonstration: walshadow's role, and a line that admits it to the WAL.
set -eu
psql -v ON_ERROR_STOP=1 -U postgres -d shop <<'SQL'
CREATE ROLE walshadow LOGIN REPLICATION BYPASSRLS PASSWORD 'demonstration';
GRANT pg_read_all_data TO walshadow;
CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state text NOT NULL, at timestamptz DEFAULT now());
INSERT INTO orders (state) SELECT 'new' FROM generate_series(1, 1000);
SQL
echo "host replication walshadow all scram-sha-256" >>"$PGDATA/pg_hba.conf"
