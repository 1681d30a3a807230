package dev.walshadow.shadow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** The same, whatever databases, users, settings and locales the source has. */
@Timeout(180)
@ParameterizedClass
@MethodSource("majors")
class ShadowOfAnySourceTest extends ShadowClusterRig {
    ShadowOfAnySourceTest(int major) throws Exception {
        super(major);
    }

    @Test
    void followsDatabasesThatAreRenamedAndDroppedUnderIdleSessions() throws Exception {
        execute("postgres", "CREATE DATABASE one", "CREATE DATABASE two");
        execute("one", "CREATE TABLE in_one (id int)");
        execute("two", "CREATE TABLE in_two (id int)");
        assertThat(tables("one", publishAll())).containsExactly("in_one");
        execute(
                "postgres",
                "ALTER DATABASE one RENAME TO three",
                "ALTER DATABASE two RENAME TO one");
        assertThat(tables("one", publishAll())).containsExactly("in_two");
        assertThat(tables("three", publishAll())).containsExactly("in_one");
        execute("postgres", "DROP DATABASE one", "DROP DATABASE three", "CREATE DATABASE one");
        execute("one", "CREATE TABLE anew (id int)");
        assertThat(tables("one", publishAll())).containsExactly("anew");
        execute("postgres", "DROP DATABASE one");
        assertSameCatalogs("postgres", publishAll());
    }

    private List<String> tables(String database, long lsn) throws InterruptedException {
        return sessions.read(lsn, database, STALL, reader::readAll).stream()
                .map(relation -> relation.name().name())
                .toList();
    }

    @Test
    void restartsWhenTheWalRaisesASetting() throws Exception {
        assertSameCatalogs("postgres", publishAll());
        source.setting("max_connections", "321");
        source.setting("max_locks_per_transaction", "77");
        source.restart();
        execute("postgres", "CREATE TABLE later" + System.nanoTime() + " (id int)");
        assertSameCatalogs("postgres", publishAll());
        String setting =
                sessions.read(
                        sender.publishedLsn(),
                        "postgres",
                        STALL,
                        session -> text(session, "SHOW max_connections"));
        assertThat(setting).isEqualTo("321");
        assertThat(cluster.health().restarts()).isPositive();
    }

    @Test
    void readsWhateverTheSourceHasSetForItsUsers() throws Exception {
        execute("postgres", "CREATE ROLE boss SUPERUSER LOGIN", "CREATE DATABASE hostile");
        execute(
                "hostile",
                "CREATE TABLE b (id int)",
                "ALTER TABLE b ADD COLUMN raw bytea DEFAULT '\\x00ff'");
        if (major >= 17) {
            execute(
                    "hostile",
                    "CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS"
                            + " $$ BEGIN RAISE EXCEPTION 'no entry'; END $$",
                    "CREATE EVENT TRIGGER gate ON login EXECUTE FUNCTION refuse()",
                    "ALTER EVENT TRIGGER gate ENABLE ALWAYS");
        }
        execute(
                "postgres",
                "ALTER DATABASE hostile SET session_preload_libraries = 'no_such_library'",
                "ALTER DATABASE hostile SET search_path = 'nowhere'",
                "ALTER DATABASE hostile SET bytea_output = 'escape'",
                "ALTER ROLE boss IN DATABASE hostile SET role = 'pg_monitor'",
                "ALTER ROLE postgres IN DATABASE hostile SET statement_timeout = '1ms'");
        assertThatThrownBy(() -> connect("hostile")).isInstanceOf(SQLException.class);
        assertHostileIsRead(publishAll());
        role = "boss";
        execute("postgres", "ALTER ROLE postgres RENAME TO admin", "ALTER ROLE admin NOLOGIN");
        assertHostileIsRead(publishAll());
        execute(
                "postgres",
                "ALTER ROLE admin RENAME TO postgres",
                "ALTER ROLE postgres LOGIN",
                "DROP DATABASE hostile");
        role = "postgres";
        execute("postgres", "DROP ROLE boss");
        assertSameCatalogs("postgres", publishAll());
    }

    private void assertHostileIsRead(long lsn) throws Exception {
        assertThat(sessions.read(lsn, "hostile", STALL, reader::readAll))
                .filteredOn(relation -> relation.kind() == 'r')
                .singleElement()
                .satisfies(relation ->
                        assertThat(relation.attributes().get(1).missingValue())
                                .isEqualTo("\\x00ff"));
    }

    @Test
    void standsInForALocaleThatThisHostLacks() throws Exception {
        execute(
                "postgres",
                "CREATE DATABASE far",
                "UPDATE pg_database SET datcollate = 'xx_YY.UTF-8', datctype = 'xx_YY.UTF-8'"
                        + " WHERE datname = 'far'");
        assertThat(sessions.read(publishAll(), "far", STALL, reader::namespaces))
                .contains(new NamespaceInfo(11, "pg_catalog"));
        assertThat(cluster.health().restarts()).isPositive();
    }
}
