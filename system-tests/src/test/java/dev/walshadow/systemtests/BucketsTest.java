package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.walg.WalgBackup;
import dev.walshadow.source.store.FileObjectStore;
import dev.walshadow.source.store.ObjectStore;
import dev.walshadow.source.store.ObjectStores;
import dev.walshadow.testkit.store.AzureServer;
import dev.walshadow.testkit.store.BucketServer;
import dev.walshadow.testkit.store.GcsServer;
import dev.walshadow.testkit.store.S3Server;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPairGenerator;
import java.util.Base64;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What is read from buckets of every kind, and what is said when they cannot be read. */
final class BucketsTest {
    private static final String BUCKET = "bucket-of-tests";
    private static final String KEY = "test-key";
    private static final String SECRET = "c2VjcmV0";
    private static final int PAGE = 3;

    @TempDir private Path folder;

    /** A store that others run. */
    enum Kind {
        S3("s3", "AWS_ACCESS_KEY_ID"),
        GCS("gs", "GOOGLE_APPLICATION_CREDENTIALS"),
        AZURE("azure", "AZURE_STORAGE_ACCOUNT");

        private final String scheme;
        private final String variable;

        Kind(String scheme, String variable) {
            this.scheme = scheme;
            this.variable = variable;
        }

        BucketServer serve(Path root) {
            return switch (this) {
                case S3 -> new S3Server(root, BUCKET, KEY, PAGE);
                case GCS -> new GcsServer(root, BUCKET, PAGE);
                case AZURE -> new AzureServer(root, KEY, BUCKET, PAGE);
            };
        }

        /**
         * @param user the one that the server knows, or another
         */
        Map<String, String> variables(BucketServer server, String user, Path folder)
                throws Exception {
            return switch (this) {
                case S3 ->
                        Map.of(
                                "AWS_ACCESS_KEY_ID",
                                user,
                                "AWS_SECRET_ACCESS_KEY",
                                SECRET,
                                "AWS_ENDPOINT",
                                server.endpoint(),
                                "AWS_S3_FORCE_PATH_STYLE",
                                "true");
                case GCS ->
                        user.equals(KEY)
                                ? Map.of(
                                        "STORAGE_EMULATOR_HOST", server.endpoint(),
                                        "GOOGLE_APPLICATION_CREDENTIALS",
                                                serviceAccount(server.endpoint(), folder))
                                : Map.of("STORAGE_EMULATOR_HOST", server.endpoint());
                case AZURE ->
                        Map.of(
                                "AZURE_STORAGE_CONNECTION_STRING",
                                "DefaultEndpointsProtocol=http;AccountName="
                                        + user
                                        + ";AccountKey="
                                        + SECRET
                                        + ";BlobEndpoint="
                                        + server.endpoint()
                                        + "/"
                                        + KEY
                                        + ";");
            };
        }

        private static String serviceAccount(String endpoint, Path folder) throws Exception {
            KeyPairGenerator keys = KeyPairGenerator.getInstance("RSA");
            keys.initialize(2048);
            String key =
                    Base64.getEncoder()
                            .encodeToString(keys.generateKeyPair().getPrivate().getEncoded());
            Path file = folder.resolve("account.json");
            Files.writeString(
                    file,
                    """
                    {"type": "service_account", "project_id": "p", "client_id": "1",
                     "client_email": "a@p.example", "private_key_id": "k",
                     "private_key": "-----BEGIN PRIVATE KEY-----\\n%s\\n-----END PRIVATE KEY-----\\n",
                     "token_uri": "%s/token"}
                    """
                            .formatted(key, endpoint));
            return file.toString();
        }
    }

    private ObjectStore open(Kind kind, BucketServer server, String prefix, String user)
            throws Exception {
        Map<String, String> variables = kind.variables(server, user, folder);
        return ObjectStores.open(kind.scheme + "://" + BUCKET + "/" + prefix, variables::get);
    }

    /** The same objects by both ways, over several pages of a list, with failures in between. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void aBucketHasWhatItsDirectoryHas(Kind kind) throws Exception {
        SplittableRandom random = new SplittableRandom(1);
        Path bucket = folder.resolve("bucket");
        Path objects = Files.createDirectories(bucket.resolve("some/folder"));
        for (int i = 0; i < 10; i++) {
            byte[] body = new byte[1000 * i];
            random.nextBytes(body);
            Files.write(objects.resolve("object " + i), body);
        }
        try (BucketServer server = kind.serve(folder);
                ObjectStore directory = new FileObjectStore(bucket);
                ObjectStore store = open(kind, server, "bucket", KEY)) {
            server.fail(1);
            assertThat(store.list("some/folder"))
                    .extracting(ObjectStore.StoredObject::name)
                    .isEqualTo(
                            directory.list("some/folder").stream()
                                    .map(ObjectStore.StoredObject::name)
                                    .toList());
            for (ObjectStore.StoredObject each : directory.list("some/folder")) {
                server.fail(1);
                assertThat(read(store, each.name(), 0)).isEqualTo(read(directory, each.name(), 0));
                if (each.bytes() > 0) {
                    assertThat(read(store, each.name(), 500))
                            .isEqualTo(read(directory, each.name(), 500));
                }
            }
            assertThat(store.list("some")).isEmpty();
            assertThat(store.open("some/nothing", 0)).isNull();
            assertThatThrownBy(() -> WalgBackup.find(store, WalgBackup.LATEST))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining(
                            "no finished backup in " + kind.scheme + "://" + BUCKET + "/bucket/");
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void wrongCredentialsAreSaidSo(Kind kind) throws Exception {
        try (BucketServer server = kind.serve(folder);
                ObjectStore store = open(kind, server, "", "stranger")) {
            assertThatThrownBy(() -> store.list(""))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining(kind.variable);
            assertThatThrownBy(() -> store.open("x", 0)).isInstanceOf(ConfigurationException.class);
        }
    }

    @Test
    void noCredentialsAreSaidSo() {
        assertThatThrownBy(() -> ObjectStores.open("azure://c/p", name -> null))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("AZURE_STORAGE_ACCESS_KEY");
        Map<String, String> nothing = Map.of("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere");
        assertThatThrownBy(() -> ObjectStores.open("gs://c/p", nothing::get))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("/nowhere");
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aStoreThatIsAwayIsTriedAgain(Kind kind) throws Exception {
        BucketServer server = kind.serve(folder);
        try (ObjectStore store = open(kind, server, "", KEY)) {
            server.close();
            assertThatThrownBy(() -> store.list(""))
                    .isInstanceOf(RetryException.class)
                    .hasMessageContaining(kind.scheme + "://" + BUCKET + "/");
            assertThatThrownBy(() -> store.open("it", 0)).isInstanceOf(RetryException.class);
        }
    }

    private static byte[] read(ObjectStore store, String name, long offset) throws IOException {
        try (InputStream in = Objects.requireNonNull(store.open(name, offset))) {
            return in.readAllBytes();
        }
    }
}
