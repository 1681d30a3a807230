package dev.walshadow.shadow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.catalog.TypeStructure;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.postgres.RelationLocator;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CatalogReaderTest {
    private static final Map<Integer, EmbeddedPostgres> SERVERS = new TreeMap<>();
    private final CatalogReader reader = new CatalogReader();

    @BeforeAll
    static void start() {
        Path directory = UnprivilegedUser.temporaryDirectory("walshadow-reader");
        for (int major : new int[] {15, 18}) {
            SERVERS.put(
                    major,
                    EmbeddedPostgres.at(directory.resolve("pg" + major))
                            .version(major)
                            .setting("fsync", "off")
                            .setting("allow_in_place_tablespaces", "on")
                            .start());
        }
    }

    @AfterAll
    static void stop() {
        SERVERS.values().forEach(EmbeddedPostgres::close);
    }

    private static Connection connect(int major) throws SQLException {
        EmbeddedPostgres server = Objects.requireNonNull(SERVERS.get(major));
        return DriverManager.getConnection(server.jdbcUrl("postgres"));
    }

    private static void execute(Connection session, String... statements) throws SQLException {
        try (Statement statement = session.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static Map<String, RelationDescriptor> byName(List<RelationDescriptor> relations) {
        return relations.stream()
                .collect(Collectors.toMap(r -> r.name().name(), Function.identity()));
    }

    private static int number(Connection session, String sql) throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return (int) row.getLong(1);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void readsShapesAsTheCatalogHasThem(int major) throws SQLException {
        try (Connection session = connect(major)) {
            execute(
                    session,
                    "SET timezone = 'Asia/Tokyo'",
                    "CREATE SCHEMA \"Odd Name\"",
                    "CREATE DOMAIN positive AS numeric(10,2) CHECK (value > 0)",
                    "CREATE DOMAIN more_positive AS positive",
                    "CREATE TABLE \"Odd Name\".t (b int NOT NULL, gone text, a int NOT NULL,"
                            + " v more_positive[], s text, PRIMARY KEY (a, b) INCLUDE (s))",
                    "ALTER TABLE \"Odd Name\".t DROP COLUMN gone",
                    "INSERT INTO \"Odd Name\".t (b, a) VALUES (1, 2)",
                    "ALTER TABLE \"Odd Name\".t ADD COLUMN at timestamptz NOT NULL DEFAULT"
                            + " '2026-11-29 12:00+00', ADD COLUMN list int[] DEFAULT '{1,NULL,3}',"
                            + " ADD COLUMN txt text DEFAULT 'with \"quotes\", {braces} and ''x'''");
            RelationDescriptor table =
                    Objects.requireNonNull(byName(reader.readAll(session)).get("t"));
            assertThat(table.name().schema()).isEqualTo("Odd Name");
            assertThat(table.primaryKey()).containsExactly(3, 1);
            assertThat(table.identityKey()).isEmpty();
            assertThat(table.accessMethod()).isEqualTo("heap");
            int database =
                    number(session, "SELECT oid FROM pg_database WHERE datname = 'postgres'");
            assertThat(table.databaseOid()).isEqualTo(database);
            assertThat(table.locator())
                    .isEqualTo(
                            new RelationLocator(
                                    1663,
                                    database,
                                    number(
                                            session,
                                            "SELECT pg_relation_filenode('\"Odd Name\".t')")));
            List<AttributeDescriptor> columns = table.attributes();
            assertThat(columns)
                    .extracting(AttributeDescriptor::number)
                    .containsExactly(1, 2, 3, 4, 5, 6, 7, 8);
            assertThat(columns.get(1).dropped()).isTrue();
            assertThat(columns.get(1).typeOid()).isZero();
            assertThat(columns.get(1).length()).isEqualTo(-1);
            assertThat(columns.get(1).alignment()).isEqualTo('i');
            assertThat(columns.get(5).missingValue()).isEqualTo("2026-11-29 12:00:00+00");
            assertThat(columns.get(6).missingValue()).isEqualTo("{1,NULL,3}");
            assertThat(columns.get(7).missingValue())
                    .isEqualTo("with \"quotes\", {braces} and 'x'");
            assertThat(columns.get(0).missingValue()).isNull();
            Map<String, TypeDescriptor> types =
                    table.types().stream()
                            .collect(Collectors.toMap(TypeDescriptor::name, Function.identity()));
            assertThat(types.keySet())
                    .containsExactlyInAnyOrder(
                            "int4",
                            "_more_positive",
                            "more_positive",
                            "positive",
                            "numeric",
                            "text",
                            "timestamptz",
                            "_int4");
            TypeDescriptor domain = Objects.requireNonNull(types.get("positive"));
            assertThat(domain.kind()).isEqualTo('d');
            assertThat(domain.baseTypeModifier()).isEqualTo((10 << 16 | 2) + 4);
            assertThat(Objects.requireNonNull(types.get("text")).elementOid()).isZero();
            RelationDescriptor toast =
                    reader.readAll(session).stream()
                            .filter(r -> r.oid() == table.toastRelationOid())
                            .findFirst()
                            .orElseThrow();
            assertThat(toast.ownerRelationOid()).isEqualTo(table.oid());
            assertThat(toast.kind()).isEqualTo('t');
            execute(session, "SET timezone = 'UTC'", "DROP SCHEMA \"Odd Name\" CASCADE");
        }
    }

    private static Map<String, TypeDescriptor> typesOf(RelationDescriptor table) {
        return table.types().stream()
                .collect(Collectors.toMap(TypeDescriptor::name, Function.identity()));
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void readsWhatTypesAreMadeOf(int major) throws SQLException {
        try (Connection session = connect(major)) {
            execute(
                    session,
                    "CREATE SCHEMA made",
                    "SET search_path = made",
                    "CREATE TYPE mood AS ENUM ('sad', 'ok')",
                    "ALTER TYPE mood ADD VALUE 'glad' BEFORE 'ok'",
                    "CREATE DOMAIN grid AS int[][]",
                    "CREATE TYPE pair AS (a mood, gone text, b numeric(5,2)[], c box)",
                    "ALTER TYPE pair DROP ATTRIBUTE gone",
                    "CREATE TYPE nest AS (p pair[])",
                    "CREATE DOMAIN nested AS nest",
                    "CREATE TYPE moods AS RANGE (subtype = mood, multirange_type_name = mmoods)",
                    "CREATE TABLE t (id int PRIMARY KEY, g grid, n nested, m mmoods, d text[][][])",
                    "CREATE TABLE other (id int PRIMARY KEY)",
                    "CREATE TABLE deep (id int PRIMARY KEY, o other[])",
                    "ALTER TYPE pair ADD ATTRIBUTE d int");
            Map<String, RelationDescriptor> all = byName(reader.readAll(session));
            RelationDescriptor table = found(all, "t");
            Map<String, TypeDescriptor> types = typesOf(table);
            assertThat(types.keySet())
                    .containsExactlyInAnyOrder(
                            "int4",
                            "grid",
                            "_int4",
                            "nested",
                            "nest",
                            "_pair",
                            "pair",
                            "mood",
                            "_numeric",
                            "numeric",
                            "box",
                            "mmoods",
                            "moods",
                            "_text",
                            "text");
            assertThat(Objects.requireNonNull(types.get("mood")).structure())
                    .isInstanceOfSatisfying(
                            TypeStructure.Enumeration.class,
                            mood ->
                                    assertThat(mood.labels())
                                            .extracting(TypeStructure.EnumLabel::label)
                                            .containsExactly("sad", "glad", "ok"));
            assertThat(Objects.requireNonNull(types.get("pair")).structure())
                    .isInstanceOfSatisfying(
                            TypeStructure.Composite.class,
                            pair -> {
                                assertThat(pair.attributes()).hasSize(5);
                                assertThat(pair.attributes().get(1).dropped()).isTrue();
                                assertThat(pair.attributes().get(4).name()).isEqualTo("d");
                            });
            assertThat(Objects.requireNonNull(types.get("grid")).structure())
                    .isEqualTo(new TypeStructure.ArrayDomain(2));
            assertThat(Objects.requireNonNull(types.get("box")).delimiter()).isEqualTo(';');
            int range = Objects.requireNonNull(types.get("moods")).oid();
            int mood = Objects.requireNonNull(types.get("mood")).oid();
            assertThat(Objects.requireNonNull(types.get("mmoods")).structure())
                    .isEqualTo(new TypeStructure.Multirange(range));
            assertThat(Objects.requireNonNull(types.get("moods")).structure())
                    .isEqualTo(new TypeStructure.Range(mood));
            assertThat(table.attributes().get(4).dimensions()).isEqualTo(3);
            // ALTER TYPE names the composite only, ALTER TABLE the table whose rows are a type
            int pair = number(session, "SELECT 'pair'::regclass::oid");
            int other = number(session, "SELECT 'other'::regclass::oid");
            assertThat(byName(reader.read(session, new int[] {pair})))
                    .containsOnlyKeys("t", toastName(table));
            assertThat(byName(reader.read(session, new int[] {other})).keySet())
                    .contains("other", "deep");
            execute(session, "SET search_path = DEFAULT", "DROP SCHEMA made CASCADE");
        }
    }

    private static String toastName(RelationDescriptor table) {
        return "pg_toast_" + Integer.toUnsignedString(table.oid());
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void takesOnlyUsableKeys(int major) throws SQLException {
        try (Connection session = connect(major)) {
            execute(
                    session,
                    "CREATE TABLE deferred (a int PRIMARY KEY DEFERRABLE)",
                    "CREATE TABLE chosen (a int PRIMARY KEY, b int NOT NULL, c int NOT NULL)",
                    "CREATE UNIQUE INDEX chosen_cb ON chosen (c, b)",
                    "ALTER TABLE chosen REPLICA IDENTITY USING INDEX chosen_cb",
                    "CREATE TABLE whole (a int)",
                    "ALTER TABLE whole REPLICA IDENTITY FULL",
                    "CREATE TABLE root (a int PRIMARY KEY) PARTITION BY RANGE (a)",
                    "CREATE TABLE leaf PARTITION OF root FOR VALUES FROM (1) TO (9)",
                    "CREATE UNLOGGED TABLE unlogged (a int)",
                    "CREATE TEMP TABLE temporary (a text)",
                    "CREATE MATERIALIZED VIEW matview AS SELECT 1 AS one",
                    "CREATE VIEW plain AS SELECT 1 AS one",
                    "CREATE SEQUENCE numbers");
            Map<String, RelationDescriptor> all =
                    byName(
                            reader.readAll(session).stream()
                                    .filter(relation -> relation.kind() != 't')
                                    .toList());
            assertThat(all.keySet())
                    .containsExactlyInAnyOrder(
                            "deferred",
                            "chosen",
                            "whole",
                            "root",
                            "leaf",
                            "unlogged",
                            "matview",
                            "numbers");
            assertThat(found(all, "numbers").kind()).isEqualTo('S');
            assertThat(found(all, "deferred").primaryKey()).isEmpty();
            assertThat(found(all, "chosen").primaryKey()).containsExactly(1);
            assertThat(found(all, "chosen").identityKey()).containsExactly(3, 2);
            assertThat(found(all, "chosen").replicaIdentity()).isEqualTo('i');
            assertThat(found(all, "whole").replicaIdentity()).isEqualTo('f');
            assertThat(found(all, "root").locator()).isNull();
            assertThat(found(all, "root").primaryKey()).containsExactly(1);
            assertThat(found(all, "leaf").partition()).isTrue();
            assertThat(found(all, "leaf").primaryKey()).containsExactly(1);
            assertThat(found(all, "unlogged").persistence()).isEqualTo('u');
            execute(
                    session,
                    "DROP TABLE deferred, chosen, whole, root, unlogged, temporary",
                    "DROP MATERIALIZED VIEW matview",
                    "DROP VIEW plain",
                    "DROP SEQUENCE numbers");
        }
    }

    private static RelationDescriptor found(Map<String, RelationDescriptor> all, String name) {
        return Objects.requireNonNull(all.get(name));
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void readsNamedRelationsWithTheirRelatives(int major) throws SQLException {
        try (Connection session = connect(major)) {
            execute(
                    session,
                    "CREATE TABLE one (a int PRIMARY KEY, t text)",
                    "CREATE TABLE two (a int)");
            int index = number(session, "SELECT 'one_pkey'::regclass::oid");
            int toast =
                    number(
                            session,
                            "SELECT reltoastrelid FROM pg_class WHERE oid = 'one'::regclass");
            int toastIndex =
                    number(
                            session,
                            "SELECT indexrelid FROM pg_index WHERE indrelid = "
                                    + Integer.toUnsignedString(toast));
            int table = number(session, "SELECT 'one'::regclass::oid");
            for (int oid : new int[] {index, toast, toastIndex, table}) {
                assertThat(reader.read(session, new int[] {oid, 4_000_000}))
                        .extracting(RelationDescriptor::oid)
                        .containsExactlyInAnyOrder(table, toast);
            }
            assertThat(reader.read(session, new int[0])).isEmpty();
            assertThat(session.getAutoCommit()).isTrue();
            execute(session, "DROP TABLE one, two");
            assertThat(reader.read(session, new int[] {index, table})).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void resolvesTablespacesAndRewrittenCatalogs(int major) throws SQLException {
        try (Connection session = connect(major)) {
            execute(
                    session,
                    "CREATE TABLESPACE elsewhere LOCATION ''",
                    "CREATE TABLE there (a int) TABLESPACE elsewhere",
                    "VACUUM FULL pg_class",
                    "REINDEX TABLE pg_attribute",
                    "VACUUM FULL pg_database");
            int tablespace =
                    number(session, "SELECT oid FROM pg_tablespace WHERE spcname = 'elsewhere'");
            RelationLocator locator =
                    Objects.requireNonNull(
                            found(byName(reader.readAll(session)), "there").locator());
            assertThat(locator.tablespaceOid()).isEqualTo(tablespace);
            List<RewrittenCatalog> rewritten = reader.rewrittenCatalogs(session);
            int database =
                    number(session, "SELECT oid FROM pg_database WHERE datname = 'postgres'");
            assertThat(rewritten)
                    .contains(
                            new RewrittenCatalog(
                                    1259,
                                    new RelationLocator(
                                            1663,
                                            database,
                                            number(session, "SELECT pg_relation_filenode(1259)"))),
                            new RewrittenCatalog(
                                    1262,
                                    new RelationLocator(
                                            1664,
                                            0,
                                            number(session, "SELECT pg_relation_filenode(1262)"))));
            assertThat(rewritten)
                    .extracting(RewrittenCatalog::relationOid)
                    .doesNotContain(1249, 1255)
                    .contains(2658);
            assertThat(reader.databases(session))
                    .extracting(DatabaseInfo::name)
                    .contains("postgres", "template0", "template1");
            assertThat(reader.databases(session))
                    .extracting(DatabaseInfo::encoding)
                    .containsOnly("UTF8");
            assertThat(reader.namespaces(session)).contains(new NamespaceInfo(11, "pg_catalog"));
            assertThat(reader.bootstrapRole(session)).isEqualTo("postgres");
            execute(session, "DROP TABLE there", "DROP TABLESPACE elsewhere");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void needsAsFewStatementsForThousandsOfTablesAsForOne(int major) throws SQLException {
        int tables = Boolean.getBoolean("walshadow.soak") ? 20_000 : 1000;
        try (Connection session = connect(major)) {
            for (int start = 0; start < tables; start += 200) {
                execute(
                        session,
                        "DO $$ BEGIN FOR i IN "
                                + start
                                + " .. "
                                + (start + 199)
                                + " LOOP EXECUTE format('CREATE TABLE many_%s (id bigint PRIMARY"
                                + " KEY, a text, b text, c int, d numeric, e timestamptz)', i);"
                                + " END LOOP; END $$");
            }
            AtomicInteger statements = new AtomicInteger();
            Connection counted = counting(session, statements);
            List<RelationDescriptor> all = reader.readAll(counted);
            assertThat(all).filteredOn(r -> r.name().name().startsWith("many_")).hasSize(tables);
            int ofAll = statements.getAndSet(0);
            assertThat(reader.read(counted, new int[] {all.getLast().oid()})).isNotEmpty();
            assertThat(ofAll).isLessThan(10);
            assertThat(statements.get()).isLessThan(ofAll);
            for (int start = 0; start < tables; start += 200) {
                execute(
                        session,
                        "DO $$ BEGIN FOR i IN "
                                + start
                                + " .. "
                                + (start + 199)
                                + " LOOP EXECUTE format('DROP TABLE IF EXISTS many_%s', i); END"
                                + " LOOP; END $$");
            }
        }
    }

    private static Connection counting(Connection session, AtomicInteger statements) {
        return (Connection)
                Proxy.newProxyInstance(
                        Connection.class.getClassLoader(),
                        new Class<?>[] {Connection.class},
                        (proxy, method, arguments) -> {
                            if (method.getName().endsWith("Statement")) {
                                statements.incrementAndGet();
                            }
                            return method.invoke(session, arguments);
                        });
    }
}
