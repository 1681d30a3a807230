package dev.walshadow.daemon.replication;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the descriptor log holds after each change, and which changes park the pump. */
@Timeout(600)
class CatalogCaptureTest {
    /** SQL of one session, the statements one by one. */
    private record Change(String name, List<String> statements) {
        void run(CaptureRig rig) throws SQLException {
            rig.execute(CaptureRig.DATABASE, statements.toArray(String[]::new));
        }
    }

    private static Change change(String name, String... statements) {
        return new Change(name, List.of(statements));
    }

    static Stream<Integer> majors() {
        return Boolean.getBoolean("walshadow.soak") ? Stream.of(15, 16, 17, 18) : Stream.of(15, 18);
    }

    private static final String[] BEFORE = {
        "CREATE TABLE t (id int PRIMARY KEY, v text, w text NOT NULL)",
        "CREATE UNIQUE INDEX t_w ON t (w)",
        "INSERT INTO t SELECT i, repeat('v', 3000), i FROM generate_series(1, 50) i",
        "CREATE SEQUENCE counted",
        "CREATE TYPE mood AS ENUM ('a', 'b')",
        "CREATE TYPE pair AS (a int, b text)",
        "CREATE TYPE nested AS (p pair, m mood[])",
        "CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
        "CREATE TYPE span AS RANGE (subtype = int4)",
        "CREATE TABLE typed (id int PRIMARY KEY, m mood, ms mood[], p pair, n nested, d positive,"
                + " s span)",
        "CREATE SCHEMA one",
        "CREATE TABLE one.inside (id int PRIMARY KEY, v text, m mood)",
        "CREATE TABLE root (id int PRIMARY KEY, v text) PARTITION BY RANGE (id)",
        "CREATE TABLE leaf PARTITION OF root FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE loose (id int PRIMARY KEY, v text)",
        "CREATE TABLE plain (id int)",
    };

    private static final List<Change> TYPES =
            List.of(
                    change("enum value", "ALTER TYPE mood ADD VALUE 'c' BEFORE 'b'"),
                    change("enum label", "ALTER TYPE mood RENAME VALUE 'a' TO 'z'"),
                    change("enum name", "ALTER TYPE mood RENAME TO feeling"),
                    change("attribute", "ALTER TYPE pair ADD ATTRIBUTE c numeric CASCADE"),
                    change("attribute name", "ALTER TYPE pair RENAME ATTRIBUTE c TO d"),
                    change("attribute dropped", "ALTER TYPE pair DROP ATTRIBUTE d CASCADE"),
                    change("composite name", "ALTER TYPE pair RENAME TO couple"),
                    change("range name", "ALTER TYPE span RENAME TO spread"),
                    change("type schema", "ALTER TYPE spread SET SCHEMA one"),
                    change("domain name", "ALTER DOMAIN positive RENAME TO counted"),
                    change("domain", "ALTER DOMAIN counted SET NOT NULL"),
                    change("domain check", "ALTER DOMAIN counted ADD CHECK (VALUE < 999)"),
                    change(
                            "domain of a domain",
                            "CREATE DOMAIN small AS counted CHECK (VALUE < 10)",
                            "ALTER TABLE typed ADD COLUMN tiny small"),
                    change("type dropped", "DROP TYPE small CASCADE"));

    private static final List<Change> NAMES =
            List.of(
                    change("schema name", "ALTER SCHEMA one RENAME TO two"),
                    change("table schema", "ALTER TABLE two.inside SET SCHEMA public"),
                    change("table name", "ALTER TABLE inside RENAME TO outside"),
                    change("index name", "ALTER INDEX t_w RENAME TO t_ww"),
                    change("column name", "ALTER TABLE outside RENAME COLUMN v TO vv"),
                    change(
                            "names exchanged",
                            "BEGIN; ALTER TABLE loose RENAME TO x; ALTER TABLE plain RENAME TO"
                                    + " loose; ALTER TABLE x RENAME TO plain; COMMIT"),
                    change(
                            "and back",
                            "BEGIN; ALTER TABLE loose RENAME TO x; ALTER TABLE plain RENAME TO"
                                    + " loose; ALTER TABLE x RENAME TO plain; COMMIT"),
                    change(
                            "schema dropped",
                            "CREATE SCHEMA gone CREATE TABLE inner1 (id int)",
                            "DROP SCHEMA gone CASCADE"));

    private static final List<Change> COLUMNS =
            List.of(
                    change("added", "ALTER TABLE t ADD COLUMN a int"),
                    change(
                            "with default",
                            "ALTER TABLE t ADD COLUMN b timestamptz DEFAULT '2020-02-02 02:02+02'"),
                    change("rewritten", "ALTER TABLE t ALTER COLUMN a TYPE bigint"),
                    change("filled", "ALTER TABLE t ADD COLUMN r float8 DEFAULT random()"),
                    change("dropped", "ALTER TABLE t DROP COLUMN r"),
                    change("not null", "ALTER TABLE t ALTER COLUMN b SET NOT NULL"),
                    change("storage", "ALTER TABLE t ALTER COLUMN v SET STORAGE EXTERNAL"),
                    change("first toasted", "ALTER TABLE plain ADD COLUMN big text"),
                    change(
                            "generated",
                            "ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (id * 2) STORED"),
                    change("no longer", "ALTER TABLE t ALTER COLUMN g DROP EXPRESSION"),
                    change("expression index", "CREATE INDEX t_lower ON t (lower(v))"));

    private static final List<Change> KEYS =
            List.of(
                    change("full", "ALTER TABLE t REPLICA IDENTITY FULL"),
                    change("index", "ALTER TABLE t REPLICA IDENTITY USING INDEX t_ww"),
                    change("reindexed", "REINDEX INDEX CONCURRENTLY t_ww"),
                    change("index renamed", "ALTER INDEX t_ww RENAME TO t_w3"),
                    change("dropped", "DROP INDEX CONCURRENTLY t_w3"),
                    change("nothing", "ALTER TABLE t REPLICA IDENTITY NOTHING"),
                    change("default", "ALTER TABLE t REPLICA IDENTITY DEFAULT"),
                    change("no key", "ALTER TABLE t DROP CONSTRAINT t_pkey"),
                    change(
                            "key again",
                            "CREATE UNIQUE INDEX CONCURRENTLY t_id ON t (id, w)",
                            "ALTER TABLE t ADD CONSTRAINT t_k PRIMARY KEY USING INDEX t_id"),
                    change("all reindexed", "REINDEX TABLE CONCURRENTLY t"),
                    change(
                            "deferrable key",
                            "ALTER TABLE t DROP CONSTRAINT t_k",
                            "ALTER TABLE t ADD PRIMARY KEY (id) DEFERRABLE"));

    private static final List<Change> STORAGE =
            List.of(
                    change("truncated", "TRUNCATE t"),
                    change(
                            "vacuumed",
                            "INSERT INTO typed (id, d) VALUES (1, 2)",
                            "VACUUM FULL typed"),
                    change("clustered", "CLUSTER loose USING loose_pkey"),
                    change("unlogged", "ALTER TABLE loose SET UNLOGGED"),
                    change("logged", "ALTER TABLE loose SET LOGGED"),
                    change(
                            "moved",
                            "CREATE TABLESPACE elsewhere LOCATION ''",
                            "ALTER TABLE loose SET TABLESPACE elsewhere"),
                    change("moved back", "ALTER TABLE loose SET TABLESPACE pg_default"),
                    change(
                            "toast index alone",
                            "DO $$ BEGIN EXECUTE 'REINDEX TABLE ' || (SELECT"
                                    + " reltoastrelid::regclass FROM pg_class WHERE oid ="
                                    + " 't'::regclass); END $$"),
                    change("toast vacuumed", "VACUUM FULL t"),
                    change("view made", "CREATE MATERIALIZED VIEW mv AS SELECT id, v FROM t"),
                    change(
                            "view refreshed",
                            "CREATE UNIQUE INDEX ON mv (id)",
                            "REFRESH MATERIALIZED VIEW mv",
                            "REFRESH MATERIALIZED VIEW CONCURRENTLY mv"),
                    change("table of rows", "CREATE TABLE copied AS SELECT * FROM typed"),
                    change("catalogs", "VACUUM FULL pg_class", "VACUUM FULL pg_attribute"));

    private static final List<Change> PARTITIONS =
            List.of(
                    change(
                            "attached",
                            "ALTER TABLE root ATTACH PARTITION loose FOR VALUES FROM (10) TO (20)"),
                    change("column of all", "ALTER TABLE root ADD COLUMN extra int DEFAULT 7"),
                    change("detached", "ALTER TABLE root DETACH PARTITION loose"),
                    change("later", "ALTER TABLE root DETACH PARTITION leaf CONCURRENTLY"),
                    change("made", "CREATE TABLE q PARTITION OF root DEFAULT"),
                    change("below", "CREATE TABLE s (LIKE root) PARTITION BY LIST (v)"),
                    change("child", "CREATE TABLE heir (more int) INHERITS (t)"),
                    change("inherited", "ALTER TABLE t ADD COLUMN twice int"),
                    change("no child", "ALTER TABLE heir NO INHERIT t"),
                    change("root dropped", "DROP TABLE root"));

    private static final List<Change> TRANSACTIONS =
            List.of(
                    change("rolled back", "BEGIN; ALTER TABLE t ADD COLUMN no1 int; ROLLBACK"),
                    change(
                            "savepoints",
                            "BEGIN; ALTER TABLE t ADD COLUMN yes1 int; SAVEPOINT a; ALTER TABLE t"
                                    + " ADD COLUMN no2 int; SAVEPOINT b; DROP TABLE plain; ROLLBACK"
                                    + " TO a; ALTER TABLE t ADD COLUMN yes2 int; SAVEPOINT c;"
                                    + " CREATE TABLE kept (id int PRIMARY KEY, v text); RELEASE c;"
                                    + " COMMIT"),
                    change(
                            "caught",
                            "DO $$ BEGIN BEGIN ALTER TABLE t ADD COLUMN no3 int; RAISE EXCEPTION"
                                    + " 'x'; EXCEPTION WHEN OTHERS THEN NULL; END; ALTER TABLE t"
                                    + " ADD COLUMN yes3 int; END $$"),
                    change(
                            "prepared",
                            "BEGIN; ALTER TABLE t ADD COLUMN yes4 int; SAVEPOINT a; CREATE TABLE"
                                    + " later (id int, v text); PREPARE TRANSACTION 'p'"),
                    change("beside", "ALTER TABLE kept ADD COLUMN beside int"),
                    change("second phase", "COMMIT PREPARED 'p'"),
                    change(
                            "given up",
                            "BEGIN; ALTER TABLE later ADD COLUMN no4 int; PREPARE TRANSACTION 'q'",
                            "ROLLBACK PREPARED 'q'"),
                    change("made and dropped", "BEGIN; CREATE TABLE u (i int); DROP TABLE u; END"),
                    change(
                            "temporary beside",
                            "BEGIN; CREATE TEMP TABLE tt (a int, b text); ALTER TABLE t ADD COLUMN"
                                    + " yes5 int; CREATE VIEW vi AS SELECT id FROM t; COMMIT"),
                    change(
                            "temporary and a type",
                            "BEGIN; CREATE TEMP TABLE tt (a int); ALTER TYPE couple ADD ATTRIBUTE e"
                                    + " int; COMMIT"),
                    change("from a view", "CREATE TABLE of_view AS SELECT * FROM vi"),
                    change("dropped", "DROP TABLE later, kept"));

    private static final List<Change> ALL = new ArrayList<>();

    static {
        List.of(TYPES, NAMES, COLUMNS, KEYS, STORAGE, PARTITIONS, TRANSACTIONS)
                .forEach(ALL::addAll);
    }

    @ParameterizedTest
    @MethodSource("majors")
    void knowsAfterEveryChangeWhatTheSourceSays(int major) throws Exception {
        try (CaptureRig rig = new CaptureRig(major)) {
            rig.execute(CaptureRig.DATABASE, BEFORE);
            rig.start();
            assertThat(rig.known()).isEqualTo(rig.actual());
            for (Change change : ALL) {
                change.run(rig);
                assertThat(rig.known())
                        .as("after %s: %s", change.name(), String.join("; ", change.statements()))
                        .isEqualTo(rig.actual());
            }
        }
    }

    private static final List<Change> HARMLESS =
            List.of(
                    change(
                            "temporary tables",
                            "CREATE TEMP TABLE x (id int PRIMARY KEY, v text)",
                            "CREATE INDEX ON x (v)",
                            "INSERT INTO x VALUES (1, 'a')",
                            "ANALYZE x",
                            "ALTER TABLE x ADD COLUMN more text",
                            "TRUNCATE x",
                            "DROP TABLE x",
                            "BEGIN; CREATE TEMP TABLE y (id int, v text) ON COMMIT DROP; COMMIT",
                            "CREATE TEMP TABLE left_behind (id int, v text)"),
                    change("analyze", "ANALYZE"),
                    change("vacuum", "DELETE FROM t WHERE id > 5", "VACUUM", "VACUUM ANALYZE t"),
                    change(
                            "rights",
                            "CREATE ROLE somebody",
                            "GRANT SELECT ON t TO somebody",
                            "REVOKE SELECT ON t FROM somebody",
                            "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO somebody"),
                    change(
                            "words",
                            "COMMENT ON TABLE t IS 'a'",
                            "COMMENT ON COLUMN t.v IS 'b'",
                            "ALTER TABLE t SET (fillfactor = 80, autovacuum_enabled = off)"),
                    change(
                            "functions",
                            "CREATE FUNCTION f(i int) RETURNS int LANGUAGE sql AS 'SELECT i'",
                            "CREATE OR REPLACE FUNCTION f(i int) RETURNS int LANGUAGE sql AS"
                                    + " 'SELECT i + 1'",
                            "DROP FUNCTION f"),
                    change(
                            "views",
                            "CREATE VIEW vi AS SELECT id, v FROM t",
                            "CREATE OR REPLACE VIEW vi AS SELECT id, v, 1 AS one FROM t",
                            "GRANT SELECT ON vi TO somebody",
                            "DROP VIEW vi",
                            "CREATE TEMPORARY SEQUENCE sq",
                            "SELECT nextval('sq')",
                            "DROP SEQUENCE sq"),
                    change(
                            "values of sequences",
                            "SELECT nextval('counted')",
                            "SELECT setval('counted', 5)",
                            "GRANT USAGE ON SEQUENCE counted TO somebody"));

    @ParameterizedTest
    @MethodSource("majors")
    void parksThePumpForNothingThatChangesNoTable(int major) throws Exception {
        try (CaptureRig rig = new CaptureRig(major)) {
            rig.execute(CaptureRig.DATABASE, BEFORE);
            rig.execute(CaptureRig.DATABASE, "CREATE DATABASE other");
            rig.start();
            long holds = rig.holds();
            for (Change change : HARMLESS) {
                change.run(rig);
                assertThat(rig.holds()).as(change.name()).isEqualTo(holds);
            }
            rig.execute("other", BEFORE);
            rig.execute("other", "ALTER TABLE t ADD COLUMN a int", "REINDEX DATABASE other");
            assertThat(rig.holds()).as("other databases").isEqualTo(holds);
            // what the databases are called is to be known; nothing else is read
            rig.execute(CaptureRig.DATABASE, "CREATE DATABASE third", "DROP DATABASE third");
            assertThat(rig.holds()).as("databases made and dropped").isEqualTo(holds + 2);
            assertThat(rig.known()).isEqualTo(rig.actual());
            rig.execute(CaptureRig.DATABASE, "ALTER TABLE t ADD COLUMN a int");
            assertThat(rig.holds()).isEqualTo(holds + 3);
        }
    }
}
