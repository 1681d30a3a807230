package dev.walshadow.daemon.monitor;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.daemon.DaemonCodes;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import org.jspecify.annotations.Nullable;

/** The secret that lets a request change something. Its text is never printed. */
public final class ApiToken {
    private static final int LEAST_LENGTH = 16;
    private static final String SCHEME = "Bearer ";

    private final byte[] text;

    ApiToken(String text) {
        this.text = text.getBytes(StandardCharsets.UTF_8);
    }

    /**
     * The file's first line.
     *
     * @throws ConfigurationException if it cannot be read, or is too short to be a secret
     */
    public static ApiToken read(Path file) {
        String line;
        try {
            line = Files.readString(file).lines().findFirst().orElse("").strip();
        } catch (IOException e) {
            throw new ConfigurationException(
                    DaemonCodes.HTTP_TOKEN,
                    "[http] token_file " + file + " cannot be read (" + e + ")",
                    e);
        }
        if (line.length() < LEAST_LENGTH || !line.chars().allMatch(c -> c > ' ' && c < 0x7f)) {
            throw new ConfigurationException(
                    DaemonCodes.HTTP_TOKEN,
                    "[http] token_file "
                            + file
                            + ": the first line must be a secret of at least "
                            + LEAST_LENGTH
                            + " characters without spaces, e.g. of: openssl rand -hex 32");
        }
        return new ApiToken(line);
    }

    /**
     * @param authorization the request's header; null if it has none
     */
    boolean admits(@Nullable String authorization) {
        return authorization != null
                && authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length())
                && MessageDigest.isEqual(
                        text,
                        authorization
                                .substring(SCHEME.length())
                                .strip()
                                .getBytes(StandardCharsets.UTF_8));
    }
}
