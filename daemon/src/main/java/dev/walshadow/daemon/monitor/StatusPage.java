package dev.walshadow.daemon.monitor;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.Objects;

/**
 * The page, one file with its style and its script.
 *
 * @param securityPolicy lets the browser run this script and style alone and ask this server alone
 */
record StatusPage(String html, String securityPolicy) {
    private static final String FILE = "status.html";

    static StatusPage load() {
        try (InputStream in =
                Objects.requireNonNull(StatusPage.class.getResourceAsStream(FILE), FILE)) {
            String html = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            return new StatusPage(
                    html,
                    "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none';"
                            + " form-action 'none'; frame-ancestors 'none'; script-src '"
                            + hash(between(html, "<script>", "</script>"))
                            + "'; style-src '"
                            + hash(between(html, "<style>", "</style>"))
                            + "'");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String between(String html, String start, String end) {
        int from = html.indexOf(start) + start.length();
        return html.substring(from, html.indexOf(end, from));
    }

    private static String hash(String text) {
        try {
            byte[] digest =
                    MessageDigest.getInstance("SHA-256")
                            .digest(text.getBytes(StandardCharsets.UTF_8));
            return "sha256-" + Base64.getEncoder().encodeToString(digest);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
