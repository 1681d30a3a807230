package dev.walshadow.source.store;

import com.google.api.client.http.HttpBackOffUnsuccessfulResponseHandler;
import com.google.api.client.http.HttpRequestInitializer;
import com.google.api.client.http.HttpResponseException;
import com.google.api.client.http.javanet.NetHttpTransport;
import com.google.api.client.json.gson.GsonFactory;
import com.google.api.client.util.DateTime;
import com.google.api.client.util.ExponentialBackOff;
import com.google.api.services.storage.Storage;
import com.google.api.services.storage.model.Objects;
import com.google.api.services.storage.model.StorageObject;
import com.google.auth.Retryable;
import com.google.auth.http.HttpCredentialsAdapter;
import com.google.auth.oauth2.GoogleCredentials;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.WalshadowException;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A bucket of Google Cloud Storage, by its JSON interface. Credentials as for wal-g: the file that
 * GOOGLE_APPLICATION_CREDENTIALS names, else where Google's libraries look (the machine's account).
 * STORAGE_EMULATOR_HOST names another server, which needs no credentials.
 */
public final class GcsObjectStore implements ObjectStore {
    private static final String READ_ONLY = "https://www.googleapis.com/auth/devstorage.read_only";
    private static final int CONNECT_MILLIS = 20_000;
    private static final int READ_MILLIS = 60_000;
    private static final int RETRIES_MILLIS = 20_000;

    private final Storage storage;
    private final String bucket;
    private final String prefix;

    /**
     * @param prefix in front of every name; with or without slashes at its ends
     * @param variable the environment; answers null for what is not set
     */
    public GcsObjectStore(String bucket, String prefix, UnaryOperator<@Nullable String> variable) {
        this.bucket = bucket;
        this.prefix = ObjectStores.folder(prefix);
        String emulator = variable.apply("STORAGE_EMULATOR_HOST");
        boolean anonymous =
                emulator != null && variable.apply("GOOGLE_APPLICATION_CREDENTIALS") == null;
        HttpCredentialsAdapter login =
                anonymous ? null : new HttpCredentialsAdapter(credentials(variable));
        Storage.Builder builder =
                new Storage.Builder(
                                new NetHttpTransport(),
                                GsonFactory.getDefaultInstance(),
                                initializer(login))
                        .setApplicationName("walshadow");
        if (emulator != null) {
            builder.setRootUrl((emulator.contains("://") ? emulator : "http://" + emulator) + "/");
        }
        storage = builder.build();
    }

    private GoogleCredentials credentials(UnaryOperator<@Nullable String> variable) {
        String file = variable.apply("GOOGLE_APPLICATION_CREDENTIALS");
        try {
            if (file == null) {
                return GoogleCredentials.getApplicationDefault().createScoped(READ_ONLY);
            }
            try (InputStream key = Files.newInputStream(Path.of(file))) {
                return GoogleCredentials.fromStream(key).createScoped(READ_ONLY);
            }
        } catch (IOException e) {
            throw new ConfigurationException(
                    StoreCodes.REFUSED,
                    address()
                            + ": no credentials of Google: "
                            + e.getMessage()
                            + "; let GOOGLE_APPLICATION_CREDENTIALS name the file with the key of"
                            + " an account that may list and read the bucket",
                    e);
        }
    }

    private static HttpRequestInitializer initializer(@Nullable HttpCredentialsAdapter login) {
        return request -> {
            request.setConnectTimeout(CONNECT_MILLIS);
            request.setReadTimeout(READ_MILLIS);
            HttpBackOffUnsuccessfulResponseHandler again =
                    new HttpBackOffUnsuccessfulResponseHandler(
                            new ExponentialBackOff.Builder()
                                    .setMaxElapsedTimeMillis(RETRIES_MILLIS)
                                    .build());
            if (login == null) {
                request.setUnsuccessfulResponseHandler(again);
                return;
            }
            login.initialize(request);
            request.setUnsuccessfulResponseHandler((failed, response, retries) ->
                    login.handleResponse(failed, response, retries)
                            || again.handleResponse(failed, response, retries));
        };
    }

    @Override
    public List<StoredObject> list(String folder) {
        String inside = prefix + (folder.isEmpty() ? "" : folder + "/");
        try {
            List<StoredObject> found = new ArrayList<>();
            Storage.Objects.List request =
                    storage.objects().list(bucket).setPrefix(inside).setDelimiter("/");
            String next;
            do {
                Objects page = request.execute();
                List<StorageObject> items = page.getItems();
                if (items != null) {
                    items.forEach(each -> found.add(describe(each)));
                }
                next = page.getNextPageToken();
                request.setPageToken(next);
            } while (next != null);
            found.sort(Comparator.comparing(StoredObject::name));
            return found;
        } catch (IOException e) {
            throw failed("list " + inside, e);
        }
    }

    private StoredObject describe(StorageObject object) {
        BigInteger size = object.getSize();
        DateTime modified = object.getUpdated();
        return new StoredObject(
                object.getName().substring(prefix.length()),
                size == null ? 0 : size.longValueExact(),
                modified == null ? Instant.EPOCH : Instant.ofEpochMilli(modified.getValue()));
    }

    @Override
    public @Nullable InputStream open(String name, long offset) {
        try {
            Storage.Objects.Get request = storage.objects().get(bucket, prefix + name);
            if (offset > 0) {
                request.getRequestHeaders().setRange("bytes=" + offset + "-");
            }
            return request.executeMediaAsInputStream();
        } catch (HttpResponseException e) {
            if (e.getStatusCode() == 404) {
                return null;
            }
            throw failed("read " + name, e);
        } catch (IOException e) {
            throw failed("read " + name, e);
        }
    }

    private WalshadowException failed(String what, IOException cause) {
        String found = address() + ": cannot " + what + ": " + firstLine(cause);
        return isRefusal(cause)
                ? new ConfigurationException(
                        StoreCodes.REFUSED,
                        found
                                + "; check [backup] url and that the account of"
                                + " GOOGLE_APPLICATION_CREDENTIALS may list and read the bucket",
                        cause)
                : new RetryException(StoreCodes.UNREACHABLE, found, cause);
    }

    private static boolean isRefusal(IOException cause) {
        return switch (cause) {
            case HttpResponseException answer -> ObjectStores.isRefusal(answer.getStatusCode());
            case Retryable login -> !login.isRetryable();
            default -> false;
        };
    }

    private static String firstLine(IOException cause) {
        String text = String.valueOf(cause.getMessage());
        int end = text.indexOf('\n');
        return end < 0 ? text : text.substring(0, end);
    }

    @Override
    public String address() {
        return "gs://" + bucket + "/" + prefix;
    }

    @Override
    public void close() {}
}
