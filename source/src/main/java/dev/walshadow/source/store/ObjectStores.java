package dev.walshadow.source.store;

import dev.walshadow.base.ConfigurationException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Opens a store by its address. */
public final class ObjectStores {
    private static final String FILE = "file://";
    private static final int REQUEST_TIMEOUT = 408;
    private static final int TOO_MANY_REQUESTS = 429;

    private ObjectStores() {}

    /**
     * @param url {@code file:///directory}, or {@code s3://}, {@code gs://} or {@code azure://}
     *     with bucket and prefix
     * @param variable the environment; answers null for what is not set
     * @throws ConfigurationException if it is none of these, or a directory that does not exist
     */
    public static ObjectStore open(String url, UnaryOperator<@Nullable String> variable) {
        if (url.startsWith(FILE)) {
            return new FileObjectStore(directory(url));
        }
        int after = url.indexOf("://");
        String rest = after < 0 ? "" : url.substring(after + 3);
        int slash = rest.indexOf('/');
        String bucket = slash < 0 ? rest : rest.substring(0, slash);
        String prefix = slash < 0 ? "" : rest.substring(slash + 1);
        String scheme = bucket.isEmpty() ? "" : url.substring(0, after);
        return switch (scheme) {
            case "s3" -> new S3ObjectStore(bucket, prefix, variable);
            case "gs" -> new GcsObjectStore(bucket, prefix, variable);
            case "azure" -> new AzureObjectStore(bucket, prefix, variable);
            default ->
                    throw new ConfigurationException(
                            StoreCodes.BAD_ADDRESS,
                            "[backup] url must be file:///directory, s3://bucket/prefix,"
                                    + " gs://bucket/prefix or azure://container/prefix, not "
                                    + url);
        };
    }

    /** A prefix without slashes in front; empty, or with one at its end. */
    static String folder(String prefix) {
        String trimmed = prefix.replaceAll("^/+|/+$", "");
        return trimmed.isEmpty() ? "" : trimmed + "/";
    }

    /** Whether an answer over HTTP says that a repetition will not help. */
    static boolean isRefusal(int status) {
        return status >= 400
                && status < 500
                && status != REQUEST_TIMEOUT
                && status != TOO_MANY_REQUESTS;
    }

    private static Path directory(String url) {
        String text = url.substring(FILE.length());
        try {
            Path directory = Path.of(text);
            if (directory.isAbsolute() && Files.isDirectory(directory)) {
                return directory;
            }
        } catch (InvalidPathException e) {
            throw new ConfigurationException(
                    StoreCodes.BAD_ADDRESS, "[backup] url names no directory: " + url, e);
        }
        throw new ConfigurationException(
                StoreCodes.BAD_ADDRESS,
                "[backup] url names no directory that exists and begins with a slash: " + url);
    }
}
