package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaFieldAccess;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.ConfigurationLoader;
import dev.walshadow.daemon.preflight.Findings;
import dev.walshadow.daemon.replication.Replication;
import dev.walshadow.embedded.EmbeddedClickHouse;
import dev.walshadow.embedded.EmbeddedPostgres;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Every message that preflight can give, given by a real source and a real ClickHouse. */
@Timeout(600)
final class PreflightCodesTest {
    /** No server here is so old or new, no clock so wrong, no machine so small: HostCheckTest. */
    private static final Set<String> ELSEWHERE =
            Set.of("SOURCE_VERSION", "TARGET_VERSION", "CLOCK_SKEW", "LITTLE_MEMORY");

    private static final Pattern CODE = Pattern.compile("WS-\\d{4}");

    @TempDir private static Path folder;
    private static EmbeddedPostgres source;
    private static EmbeddedClickHouse target;
    private static final Set<String> SEEN = new TreeSet<>();
    private static int cases;

    @BeforeAll
    static void start() throws Exception {
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        source = EmbeddedPostgres.at(folder.resolve("source")).version(17).start();
        target = EmbeddedClickHouse.start(folder.resolve("target"));
        run(
                "CREATE TABLE plain (id int PRIMARY KEY)",
                "CREATE UNLOGGED TABLE fleeting (id int PRIMARY KEY)",
                "CREATE TABLE hidden (id int PRIMARY KEY)",
                "ALTER TABLE hidden ENABLE ROW LEVEL SECURITY",
                "CREATE ROLE reader LOGIN REPLICATION",
                "GRANT pg_read_all_data TO reader",
                "CREATE ROLE weak LOGIN",
                "GRANT pg_read_all_data TO weak");
    }

    @AfterAll
    static void stop() {
        target.close();
        source.close();
    }

    private static void run(String... statements) throws SQLException {
        try (Connection session = DriverManager.getConnection(source.jdbcUrl("postgres"));
                Statement statement = session.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static Path state() {
        return folder.resolve("state" + ++cases);
    }

    /** What preflight says; each line begins with its code. */
    private static String said(String url, Path state, String more) throws Exception {
        return said(url, state, more, Map.of());
    }

    private static String said(String url, Path state, String more, Map<String, String> environment)
            throws Exception {
        Path file = folder.resolve("walshadow" + ++cases + ".toml");
        Files.writeString(
                file,
                """
                [clickhouse]
                url = "%s"
                [state]
                dir = "%s"
                [source]
                url = "%s"
                %s
                """
                        .formatted(target.url(), state, url, more));
        String text;
        try {
            Findings findings =
                    Replication.check(ConfigurationLoader.load(file, environment, Map.of()));
            List<String> lines = new ArrayList<>(findings.lines());
            lines.addAll(findings.advice());
            text = String.join("\n", lines);
        } catch (ConfigurationException e) {
            text = String.valueOf(e.getMessage());
        }
        Matcher code = CODE.matcher(text);
        while (code.find()) {
            SEEN.add(code.group());
        }
        return text;
    }

    private static String said(String more) throws Exception {
        return said(source.url("postgres"), state(), more);
    }

    private static void settingsAndNames() throws Exception {
        assertThat(said("slot = \"Not-A-Slot\"")).contains("WS-1906");
        assertThat(said("[tables]\ninclude = [\"public.none\"]")).contains("WS-1907 ");
        assertThat(said("databases = [\"nowhere\"]")).contains("WS-1919 ", "nowhere");
        assertThat(said("[tables.\"public.absent\"]\nwhere = \"id = 1\"")).contains("WS-1920 ");
        assertThat(said("[memory]\ntransactions = \"100GB\"")).contains("WS-1901 ");
        assertThat(said(source.url("absent"), state(), "")).contains("WS-1910 ");
        Map<String, String> cluster = Map.of("WALSHADOW_CLICKHOUSE_CLUSTER", "nowhere");
        assertThat(said(source.url("postgres"), state(), "", cluster)).contains("WS-1970 ");
    }

    private static void directories() throws Exception {
        Path torn = Files.createDirectories(state());
        Files.createFile(torn.resolve("lock"));
        Files.writeString(Files.createDirectory(torn.resolve("shadow")).resolve("mine"), "x");
        Files.createFile(torn.resolve("spill"));
        assertThat(said(source.url("postgres"), torn, ""))
                .contains("WS-1904 ", "WS-1905 " + torn.resolve("spill"));
        // it says that it has no room
        assertThat(said(source.url("postgres"), Path.of("/proc/walshadow"), ""))
                .contains("WS-1943 only 0.0 GB");
    }

    private static void tablesAndRoles() throws Exception {
        String reader = source.url("postgres").replace("postgres@", "reader@");
        assertThat(said(reader, state(), ""))
                .contains("WS-1941 ", "WS-1942 ", "public.fleeting", "WS-1947 ", "public.hidden")
                .contains("ALTER ROLE reader BYPASSRLS")
                .doesNotContain("WS-1949");
        String weak = source.url("postgres").replace("postgres@", "weak@");
        assertThat(said(weak, state(), "")).contains("WS-1405 ", "ALTER ROLE ... REPLICATION");
    }

    private static void slotAndServerSettings() throws Exception {
        run("SELECT pg_create_logical_replication_slot('walshadow', 'pgoutput')");
        assertThat(said("")).contains("WS-1913 ");
        run(
                "SELECT pg_drop_replication_slot('walshadow')",
                "ALTER SYSTEM SET full_page_writes = off",
                "ALTER SYSTEM SET wal_level = replica");
        source.close();
        source = EmbeddedPostgres.at(folder.resolve("source")).version(17).start();
        assertThat(said("")).contains("WS-1911 ", "WS-1915 full_page_writes is off");
    }

    @Test
    void everyMessageOfPreflightIsGivenByARealServer() throws Exception {
        settingsAndNames();
        directories();
        tablesAndRoles();
        slotAndServerSettings();
        TreeSet<String> missing = new TreeSet<>();
        for (String name : codes()) {
            String code = String.valueOf(DaemonCodes.class.getField(name).get(null));
            if (!SEEN.contains(code) && !ELSEWHERE.contains(name)) {
                missing.add(name + " " + code);
            }
        }
        assertThat(missing).isEmpty();
    }

    /** Those that the classes of preflight use. */
    private static Set<String> codes() {
        Set<String> names = new TreeSet<>();
        for (JavaClass type :
                new ClassFileImporter()
                        .withImportOption(new ImportOption.DoNotIncludeTests())
                        .importPackages("dev.walshadow.daemon")) {
            boolean preflight =
                    type.getPackageName().endsWith(".preflight")
                            || Set.of("Preflight", "OfflineCheck", "RuleCheck")
                                    .contains(type.getSimpleName());
            for (JavaFieldAccess access : type.getFieldAccessesFromSelf()) {
                if (preflight && access.getTargetOwner().getSimpleName().equals("DaemonCodes")) {
                    names.add(access.getTarget().getName());
                }
            }
        }
        assertThat(names).hasSizeGreaterThan(15);
        return names;
    }
}
