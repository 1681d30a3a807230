package dev.walshadow.source.replication;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/**
 * Where certificates and keys are, as libpq's settings name them.
 *
 * @param rootCertificates PEM file of trusted authorities; {@code system} = the JDK's own; null =
 *     {@code ~/.postgresql/root.crt} if it exists, else the JDK's own
 * @param certificate PEM file of the client's certificate chain; null = {@code
 *     ~/.postgresql/postgresql.crt} if it exists
 * @param key PEM file (PKCS #8 or PKCS #1) of its key; null = {@code ~/.postgresql/postgresql.key}
 * @param keyPassword of an encrypted PKCS #8 key
 */
record TlsFiles(
        @Nullable String rootCertificates,
        @Nullable String certificate,
        @Nullable String key,
        @Nullable String keyPassword,
        Path home) {

    @Nullable Path rootCertificateFile() {
        if (rootCertificates != null) {
            return rootCertificates.equals("system") ? null : Path.of(rootCertificates);
        }
        Path standard = home.resolve(".postgresql/root.crt");
        return Files.isReadable(standard) ? standard : null;
    }

    @Nullable Path certificateFile() {
        return certificate != null ? Path.of(certificate) : standard("postgresql.crt");
    }

    @Nullable Path keyFile() {
        return key != null ? Path.of(key) : standard("postgresql.key");
    }

    private @Nullable Path standard(String name) {
        Path path = home.resolve(".postgresql").resolve(name);
        return Files.isReadable(path) ? path : null;
    }

    void putInto(Properties properties) {
        put(properties, "sslrootcert", rootCertificates);
        put(properties, "sslcert", certificate);
        put(properties, "sslkey", key);
        put(properties, "sslpassword", keyPassword);
        put(properties, "walshadow.home", home.toString());
    }

    static TlsFiles from(Properties properties) {
        return new TlsFiles(
                properties.getProperty("sslrootcert"),
                properties.getProperty("sslcert"),
                properties.getProperty("sslkey"),
                properties.getProperty("sslpassword"),
                Path.of(properties.getProperty("walshadow.home", "/")));
    }

    private static void put(Properties properties, String name, @Nullable String value) {
        if (value != null) {
            properties.setProperty(name, value);
        }
    }

    @Override
    public String toString() {
        return "TlsFiles[" + rootCertificates + ", " + certificate + ", " + key + "]";
    }
}
