package dev.walshadow.source.replication;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ConnectionSettingsTest {
    @TempDir Path home;

    private ConnectionSettings parse(String text) {
        return ConnectionSettings.parse(text, Map.of("USER", "alice"), home);
    }

    @Test
    void takesAUrlWithSeveralHostsApart() {
        ConnectionSettings settings =
                parse(
                        "postgres://bob:s%40:cret@one:5433,[::1]:5434,three/shop%20a?sslmode=require");
        assertThat(settings.hosts())
                .containsExactly(
                        new HostAddress("one", 5433),
                        new HostAddress("::1", 5434),
                        new HostAddress("three", 5432));
        assertThat(settings.user()).isEqualTo("bob");
        assertThat(settings.database()).isEqualTo("shop a");
        assertThat(settings.tlsMode()).isEqualTo(TlsMode.REQUIRE);
        assertThat(settings.wantsPrimary()).isTrue();
        assertThat(settings.passwordFor(settings.hosts().getFirst(), "x")).isEqualTo("s@:cret");
        assertThat(settings.jdbcUrl())
                .isEqualTo("jdbc:postgresql://one:5433,[::1]:5434,three:5432/shop%20a");
        assertThat(settings.jdbcProperties()).containsEntry("password", "s@:cret");
    }

    @Test
    void takesKeywordsAndQuotesApart() {
        ConnectionSettings settings =
                parse("host=h port = 6000 user='the \\'user' password=a\\ b dbname=d");
        assertThat(settings.hosts()).containsExactly(new HostAddress("h", 6000));
        assertThat(settings.user()).isEqualTo("the 'user");
        assertThat(settings.passwordFor(settings.hosts().getFirst(), "d")).isEqualTo("a b");
        assertThat(settings.tlsMode()).isEqualTo(TlsMode.PREFER);
    }

    @Test
    void defaultsComeFromTheEnvironmentAndTheUser() {
        ConnectionSettings plain = parse("");
        assertThat(plain.hosts()).containsExactly(new HostAddress("localhost", 5432));
        assertThat(plain.user()).isEqualTo("alice");
        assertThat(plain.database()).isEqualTo("alice");
        ConnectionSettings settings =
                ConnectionSettings.parse(
                        "postgresql://",
                        Map.of(
                                "PGHOST",
                                "e",
                                "PGUSER",
                                "u",
                                "PGSSLROOTCERT",
                                "/r",
                                "PGSSLMODE",
                                "require"),
                        home);
        assertThat(settings.hosts()).containsExactly(new HostAddress("e", 5432));
        assertThat(settings.user()).isEqualTo("u");
        assertThat(settings.tlsMode()).isEqualTo(TlsMode.VERIFY_CA);
    }

    @Test
    void showsNoSecret() {
        ConnectionSettings settings =
                parse("postgres://bob:hunter2@h/d?sslpassword=hunter3&sslkey=/k");
        assertThat(settings.toString())
                .isEqualTo("postgresql://bob:***@h:5432/d?sslmode=prefer")
                .doesNotContain("hunter");
        assertThat(settings.jdbcUrl()).doesNotContain("hunter");
        assertThatThrownBy(() -> parse("host=h password='hunter2"))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageNotContaining("hunter");
    }

    @Test
    void passwordFileMatchesAsInLibpq() throws Exception {
        Path file = home.resolve(".pgpass");
        Files.writeString(
                file,
                "# comment\n*:*:replication:rep:first\nh:5432:*:al\\:ice:p\\\\w\nh:*:d:bob:two\n");
        ConnectionSettings settings = parse("postgres://bob@h/d");
        HostAddress host = settings.hosts().getFirst();
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
        assertThat(settings.passwordFor(host, "d")).isNull();
        assertThat(settings.passwordFile().problem()).contains("chmod 600");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        assertThat(settings.passwordFor(host, "d")).isEqualTo("two");
        assertThat(settings.replicationPasswordFor(host)).isEqualTo("two");
        assertThat(parse("host=h user=al:ice dbname=x").passwordFor(host, "x")).isEqualTo("p\\w");
        assertThat(parse("host=z user=rep dbname=x").replicationPasswordFor(host))
                .isEqualTo("first");
    }

    @Test
    void serviceFileFillsWhatTheStringLeavesOpen() throws Exception {
        Files.writeString(
                home.resolve(".pg_service.conf"), "[a]\nhost=ha\n[b]\nhost=hb\nport=7\nuser=sb\n");
        ConnectionSettings settings = parse("service=b user=me");
        assertThat(settings.hosts()).containsExactly(new HostAddress("hb", 7));
        assertThat(settings.user()).isEqualTo("me");
        assertThatThrownBy(() -> parse("service=zz")).hasMessageContaining("\"zz\"");
    }

    @Test
    void unixSocketsAreDirectories() {
        ConnectionSettings settings = parse("postgres://u@%2Frun%2Fpg:6/d");
        assertThat(settings.hosts().getFirst().isUnixSocket()).isTrue();
        assertThat(settings.hosts().getFirst().toString()).isEqualTo("/run/pg/.s.PGSQL.6");
        assertThat(settings.jdbcProperties())
                .containsEntry("socketFactoryArg", "/run/pg/.s.PGSQL.6");
        assertThat(parse("host=/run/pg").hosts().getFirst().isUnixSocket()).isTrue();
    }

    @Test
    void refusesWhatItDoesNotUnderstand() {
        for (String text :
                new String[] {
                    "mysql://h",
                    "host=h sslmode=maybe",
                    "postgres://h:x/d",
                    "postgres://h:0/d",
                    "postgres://h/d?colour=red",
                    "host=a,b port=1,2,3",
                    "postgres://h/d%2",
                    "garbage",
                    "postgres://[::1/d",
                    "host=h connect_timeout=soon",
                    "host=h channel_binding=require"
                }) {
            assertThatThrownBy(() -> parse(text))
                    .as(text)
                    .isInstanceOfSatisfying(
                            ConfigurationException.class,
                            e -> assertThat(e.code()).isEqualTo(ReplicationCodes.BAD_SETTING));
        }
    }
}
