package dev.walshadow.source.replication;

import dev.walshadow.base.ConfigurationException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.KeySpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import javax.crypto.Cipher;
import javax.crypto.EncryptedPrivateKeyInfo;
import javax.crypto.SecretKey;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import org.jspecify.annotations.Nullable;

/** Builds TLS contexts from libpq's settings: PEM files instead of Java key stores. */
final class TlsContext {
    private static final char[] NO_PASSWORD = new char[0];

    private TlsContext() {}

    /**
     * @param verifies check the server's certificate chain; otherwise any certificate is accepted,
     *     which is what {@code sslmode=require} means
     */
    static SSLContext create(boolean verifies, TlsFiles files) {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(
                    keyManagers(files),
                    verifies ? trustManagers(files) : new TrustManager[] {new TrustAll()},
                    null);
            return context;
        } catch (GeneralSecurityException | IOException e) {
            throw new ConfigurationException(
                    ReplicationCodes.TLS_REFUSED,
                    "the TLS settings of the source cannot be used: " + e,
                    e);
        }
    }

    private static TrustManager @Nullable [] trustManagers(TlsFiles files)
            throws GeneralSecurityException, IOException {
        Path file = files.rootCertificateFile();
        if (file == null) {
            return null;
        }
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, NO_PASSWORD);
        int count = 0;
        for (Certificate certificate : certificates(file)) {
            store.setCertificateEntry("root" + count++, certificate);
        }
        if (count == 0) {
            throw new IOException("no certificate in " + file);
        }
        TrustManagerFactory factory =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        return factory.getTrustManagers();
    }

    private static KeyManager @Nullable [] keyManagers(TlsFiles files)
            throws GeneralSecurityException, IOException {
        Path certificateFile = files.certificateFile();
        Path keyFile = files.keyFile();
        if (certificateFile == null || keyFile == null) {
            return null;
        }
        Certificate[] chain = certificates(certificateFile).toArray(new Certificate[0]);
        if (chain.length == 0) {
            throw new IOException("no certificate in " + certificateFile);
        }
        PrivateKey key =
                privateKey(keyFile, chain[0].getPublicKey().getAlgorithm(), files.keyPassword());
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, NO_PASSWORD);
        store.setKeyEntry("client", key, NO_PASSWORD, chain);
        KeyManagerFactory factory =
                KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(store, NO_PASSWORD);
        return factory.getKeyManagers();
    }

    private static Collection<? extends Certificate> certificates(Path file)
            throws GeneralSecurityException, IOException {
        return CertificateFactory.getInstance("X.509")
                .generateCertificates(new ByteArrayInputStream(Files.readAllBytes(file)));
    }

    private static PrivateKey privateKey(Path file, String algorithm, @Nullable String password)
            throws GeneralSecurityException, IOException {
        String pem = Files.readString(file, StandardCharsets.ISO_8859_1);
        byte[] pkcs8 = section(pem, "PRIVATE KEY");
        byte[] encrypted = section(pem, "ENCRYPTED PRIVATE KEY");
        byte[] pkcs1 = section(pem, "RSA PRIVATE KEY");
        KeySpec spec;
        if (pkcs8 != null) {
            spec = new PKCS8EncodedKeySpec(pkcs8);
        } else if (encrypted != null) {
            spec = decrypt(encrypted, password == null ? NO_PASSWORD : password.toCharArray());
        } else if (pkcs1 != null) {
            spec = new PKCS8EncodedKeySpec(wrapPkcs1(pkcs1));
        } else {
            throw new IOException(
                    file
                            + " holds no PKCS #8 or PKCS #1 private key in PEM form; openssl pkcs8"
                            + " -topk8 converts it");
        }
        return KeyFactory.getInstance(algorithm).generatePrivate(spec);
    }

    private static KeySpec decrypt(byte[] der, char[] password)
            throws GeneralSecurityException, IOException {
        EncryptedPrivateKeyInfo info = new EncryptedPrivateKeyInfo(der);
        // PBES2's own name ("PBES2") is no algorithm; the parameters print the real one.
        String name = info.getAlgName();
        String algorithm =
                name.equals("PBES2") || name.equals("1.2.840.113549.1.5.13")
                        ? info.getAlgParameters().toString()
                        : name;
        SecretKey key =
                SecretKeyFactory.getInstance(algorithm).generateSecret(new PBEKeySpec(password));
        Cipher cipher = Cipher.getInstance(algorithm);
        cipher.init(Cipher.DECRYPT_MODE, key, info.getAlgParameters());
        return info.getKeySpec(cipher);
    }

    private static byte @Nullable [] section(String pem, String label) {
        int begin = pem.indexOf("-----BEGIN " + label + "-----");
        int end = pem.indexOf("-----END " + label + "-----");
        if (begin < 0 || end < begin) {
            return null;
        }
        return Base64.getMimeDecoder()
                .decode(pem.substring(begin + label.length() + "-----BEGIN -----".length(), end));
    }

    /**
     * PKCS #8 is a PKCS #1 key inside an envelope: SEQUENCE(0, SEQUENCE(rsa OID, NULL), OCTETS).
     */
    private static byte[] wrapPkcs1(byte[] key) {
        byte[] head = {2, 1, 0, 48, 13, 6, 9, 42, -122, 72, -122, -9, 13, 1, 1, 1, 5, 0};
        byte[] octets = tagged(4, key);
        byte[] body = new byte[head.length + octets.length];
        System.arraycopy(head, 0, body, 0, head.length);
        System.arraycopy(octets, 0, body, head.length, octets.length);
        return tagged(48, body);
    }

    private static byte[] tagged(int tag, byte[] content) {
        int length = content.length;
        byte[] result = new byte[length + 4];
        result[0] = (byte) tag;
        result[1] = (byte) 0x82;
        result[2] = (byte) (length >>> 8);
        result[3] = (byte) length;
        System.arraycopy(content, 0, result, 4, length);
        return result;
    }

    /** sslmode below verify-ca: encryption without authentication, as the operator chose. */
    private static final class TrustAll implements X509TrustManager {
        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) {}

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }
}
