package dev.walshadow.source.replication;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.Code;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.source.WalChunk;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyStore;
import java.sql.Connection;
import java.sql.DriverManager;
import java.util.Base64;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Logins and TLS at a real server, for replication and for pgjdbc alike. */
final class AuthenticationTest {
    private static final char[] STORE_PASSWORD = "changeit".toCharArray();

    @TempDir static Path folder;
    private static EmbeddedPostgres server;
    private static Path root;
    private static Path otherRoot;

    @BeforeAll
    static void startServer() throws Exception {
        server =
                EmbeddedPostgres.at(folder.resolve("server"))
                        .version(18)
                        .setting("fsync", "off")
                        .start();
        root = certificate("server", "dns:localhost", true);
        otherRoot = certificate("other", "dns:elsewhere", false);
        Sql.run(
                server,
                "create role scram login replication password 'sécret'",
                "set password_encryption = 'md5'; create role md login replication password 'pw'",
                "create role weak login password 'pw'",
                "create role client login replication");
        Files.writeString(
                server.dataDirectory().resolve("pg_hba.conf"),
                """
                local all postgres trust
                host all,replication postgres 127.0.0.1/32 trust
                host all,replication scram 127.0.0.1/32 scram-sha-256
                host all,replication md 127.0.0.1/32 md5
                host all,replication weak 127.0.0.1/32 password
                hostssl all,replication client 127.0.0.1/32 cert
                """);
        server.stop();
        server.setting("ssl", "on");
        server.setting("ssl_ca_file", "server.crt");
        server.start();
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    /** A self-signed certificate; the server's own is put into its data directory. */
    private static Path certificate(String name, String alternative, boolean forServer)
            throws Exception {
        Path store = folder.resolve(name + ".p12");
        Process keytool =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "keytool")
                                        .toString(),
                                "-genkeypair",
                                "-alias",
                                "k",
                                "-keyalg",
                                "RSA",
                                "-keysize",
                                "2048",
                                "-dname",
                                "CN=client",
                                "-ext",
                                "san=" + alternative,
                                "-ext",
                                "bc=ca:true",
                                "-keystore",
                                store.toString(),
                                "-storetype",
                                "PKCS12",
                                "-storepass",
                                new String(STORE_PASSWORD))
                        .redirectErrorStream(true)
                        .start();
        String output = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(keytool.waitFor()).as(output).isZero();
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(store)) {
            keys.load(in, STORE_PASSWORD);
        }
        Path certificate = folder.resolve(name + ".crt");
        Files.writeString(certificate, pem("CERTIFICATE", keys.getCertificate("k").getEncoded()));
        byte[] key = keys.getKey("k", STORE_PASSWORD).getEncoded();
        Files.writeString(folder.resolve(name + ".key"), pem("PRIVATE KEY", key));
        if (forServer) {
            place("server.crt", pem("CERTIFICATE", keys.getCertificate("k").getEncoded()));
            place("server.key", pem("PRIVATE KEY", key));
        }
        return certificate;
    }

    private static void place(String name, String content) throws Exception {
        Path file = server.dataDirectory().resolve(name);
        Files.writeString(file, content);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        UnprivilegedUser.own(file);
    }

    private static String pem(String label, byte[] der) {
        return "-----BEGIN "
                + label
                + "-----\n"
                + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der)
                + "\n-----END "
                + label
                + "-----\n";
    }

    private static ConnectionSettings settings(String login, String host, String parameters) {
        return ConnectionSettings.parse(
                "postgres://"
                        + login
                        + "@"
                        + host
                        + ":"
                        + server.port()
                        + "/postgres?"
                        + parameters);
    }

    private static void assertServes(ConnectionSettings settings) throws Exception {
        try (ReplicationConnection connection = ReplicationConnection.connect(settings)) {
            assertThat(connection.identifySystem().timeline()).isEqualTo(1);
        }
        try (Connection sql =
                DriverManager.getConnection(settings.jdbcUrl(), settings.jdbcProperties())) {
            assertThat(sql.isValid(5)).isTrue();
        }
    }

    private static void assertRefused(ConnectionSettings settings, Code code, String... texts) {
        assertThatThrownBy(() -> ReplicationConnection.connect(settings).close())
                .isInstanceOfSatisfying(
                        ConfigurationException.class,
                        e -> {
                            assertThat(e.code()).as(e.getMessage()).isEqualTo(code);
                            for (String text : texts) {
                                assertThat(e.getMessage()).contains(text);
                            }
                        });
        assertThatThrownBy(() ->
                        DriverManager.getConnection(settings.jdbcUrl(), settings.jdbcProperties())
                                .close())
                .isInstanceOf(java.sql.SQLException.class);
    }

    @Test
    void logsInWithScramMd5AndPlainPasswords() throws Exception {
        assertServes(settings("scram:s%C3%A9cret", "127.0.0.1", "sslmode=disable"));
        assertServes(settings("md:pw", "127.0.0.1", "sslmode=disable"));
        assertServes(settings("scram:s%C3%A9cret", "127.0.0.1", "sslmode=require"));
    }

    @Test
    void wrongAndMissingPasswordsSaySo() {
        assertRefused(
                settings("scram:wrong", "127.0.0.1", "sslmode=disable"),
                ReplicationCodes.WRONG_PASSWORD,
                "scram",
                "28P01",
                "password");
        assertRefused(
                settings("md:wrong", "127.0.0.1", "sslmode=prefer"),
                ReplicationCodes.WRONG_PASSWORD);
        assertRefused(
                settings("md", "127.0.0.1", "sslmode=disable"),
                ReplicationCodes.WRONG_PASSWORD,
                "none is set");
    }

    @Test
    void missingRightsAndHbaLinesSaySo() throws Exception {
        assertRefused(
                settings("nobody:x", "127.0.0.1", "sslmode=disable"),
                ReplicationCodes.NOT_ADMITTED,
                "pg_hba.conf");
        assertThatThrownBy(() ->
                        ReplicationConnection.connect(
                                settings("weak:pw", "127.0.0.1", "sslmode=disable")))
                .hasMessageContaining("ALTER ROLE")
                .isInstanceOf(ConfigurationException.class);
    }

    @Test
    void tlsModesCheckWhatTheyPromise() throws Exception {
        String trusted = "&sslrootcert=" + root;
        assertServes(settings("postgres", "127.0.0.1", "sslmode=require"));
        assertServes(settings("postgres", "127.0.0.1", "sslmode=verify-ca" + trusted));
        assertServes(settings("postgres", "localhost", "sslmode=verify-full" + trusted));
        assertRefused(
                settings("postgres", "127.0.0.1", "sslmode=verify-full" + trusted),
                ReplicationCodes.TLS_REFUSED,
                "127.0.0.1");
        assertRefused(
                settings("postgres", "localhost", "sslmode=verify-ca&sslrootcert=" + otherRoot),
                ReplicationCodes.TLS_REFUSED);
        assertRefused(
                settings("postgres", "localhost", "sslmode=verify-full&sslrootcert=system"),
                ReplicationCodes.TLS_REFUSED);
    }

    @Test
    void allowFallsBackToTlsWhereOnlyTlsIsAdmitted() throws Exception {
        String client = "&sslcert=" + root + "&sslkey=" + folder.resolve("server.key");
        assertServes(settings("client", "127.0.0.1", "sslmode=require" + client));
        assertServes(settings("client", "127.0.0.1", "sslmode=allow" + client));
        assertRefused(
                settings("client", "127.0.0.1", "sslmode=disable"),
                ReplicationCodes.NOT_ADMITTED,
                "pg_hba.conf");
    }

    @Test
    void streamsWalOverTlsWithIdleTicksInBetween() throws Exception {
        ConnectionSettings settings = settings("postgres", "127.0.0.1", "sslmode=require");
        SystemIdentity identity;
        try (ReplicationConnection connection = ReplicationConnection.connect(settings)) {
            connection.createPhysicalSlot("tls");
            identity = connection.identifySystem();
        }
        LiveWalSource.Listener listener =
                new LiveWalSource.Listener() {
                    @Override
                    public void connected(HostAddress host, long position) {}

                    @Override
                    public void lost(WalshadowException reason) {
                        throw reason;
                    }
                };
        Sql.run(server, "create table w(t text)");
        try (LiveWalSource source =
                new LiveWalSource(
                        new LiveWalSource.Options(
                                settings, "tls", false, identity.systemIdentifier()),
                        new StandbyStatus(),
                        listener)) {
            source.start(1, identity.flushLsn());
            WalChunk chunk = new WalChunk();
            long position = identity.flushLsn();
            for (int round = 0; round < 3; round++) {
                Sql.run(
                        server,
                        "insert into w select repeat('x', 500) from generate_series(1, 9999)");
                long to = Lsn.parse(Sql.ask(server, "select pg_current_wal_flush_lsn()"));
                int idle = 0;
                while (position < to || idle < 2) {
                    assertThat(source.next(chunk)).isTrue();
                    assertThat(chunk.startLsn()).isEqualTo(position);
                    position = chunk.endLsn();
                    idle = chunk.length() == 0 ? idle + 1 : 0;
                }
            }
            assertThat(
                            Sql.ask(
                                    server,
                                    "select ssl from pg_stat_ssl join pg_stat_replication using"
                                            + " (pid)"))
                    .isEqualTo("t");
        }
    }
}
