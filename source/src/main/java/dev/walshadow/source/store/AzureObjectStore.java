package dev.walshadow.source.store;

import com.azure.storage.blob.BlobContainerClient;
import com.azure.storage.blob.BlobServiceClientBuilder;
import com.azure.storage.blob.models.BlobItem;
import com.azure.storage.blob.models.BlobItemProperties;
import com.azure.storage.blob.models.BlobRange;
import com.azure.storage.blob.models.BlobStorageException;
import com.azure.storage.blob.models.ListBlobsOptions;
import com.azure.storage.blob.options.BlobInputStreamOptions;
import com.azure.storage.common.StorageSharedKeyCredential;
import com.azure.storage.common.policy.RequestRetryOptions;
import com.azure.storage.common.policy.RetryPolicyType;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.WalshadowException;
import java.io.InputStream;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A container of Azure Blob Storage. Credentials come from the variables that wal-g reads:
 * AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_ACCESS_KEY or AZURE_STORAGE_SAS_TOKEN,
 * AZURE_ENDPOINT_SUFFIX; or from AZURE_STORAGE_CONNECTION_STRING, which can name any server.
 */
public final class AzureObjectStore implements ObjectStore {
    private static final String SUFFIX = "core.windows.net";
    private static final int TRIES = 4;
    private static final int TRY_SECONDS = 60;
    private static final long LEAST_DELAY_MILLIS = 200;
    private static final long MOST_DELAY_MILLIS = 3_000;

    private final BlobContainerClient client;
    private final String container;
    private final String prefix;

    /**
     * @param prefix in front of every name; with or without slashes at its ends
     * @param variable the environment; answers null for what is not set
     */
    public AzureObjectStore(
            String container, String prefix, UnaryOperator<@Nullable String> variable) {
        this.container = container;
        this.prefix = ObjectStores.folder(prefix);
        BlobServiceClientBuilder builder =
                new BlobServiceClientBuilder()
                        .retryOptions(
                                new RequestRetryOptions(
                                        RetryPolicyType.EXPONENTIAL,
                                        TRIES,
                                        TRY_SECONDS,
                                        LEAST_DELAY_MILLIS,
                                        MOST_DELAY_MILLIS,
                                        null));
        try {
            login(builder, variable);
            client = builder.buildClient().getBlobContainerClient(container);
        } catch (IllegalArgumentException | IllegalStateException e) {
            throw new ConfigurationException(
                    StoreCodes.BAD_ADDRESS,
                    address()
                            + " cannot be used: "
                            + e.getMessage()
                            + "; check the variables AZURE_...",
                    e);
        }
    }

    private void login(BlobServiceClientBuilder builder, UnaryOperator<@Nullable String> variable) {
        String connection = variable.apply("AZURE_STORAGE_CONNECTION_STRING");
        if (connection != null) {
            builder.connectionString(connection);
            return;
        }
        String account = variable.apply("AZURE_STORAGE_ACCOUNT");
        String key = variable.apply("AZURE_STORAGE_ACCESS_KEY");
        String token = variable.apply("AZURE_STORAGE_SAS_TOKEN");
        if (account == null || (key == null && token == null)) {
            throw new ConfigurationException(
                    StoreCodes.REFUSED,
                    address()
                            + ": no credentials of Azure: set AZURE_STORAGE_ACCOUNT, and"
                            + " AZURE_STORAGE_ACCESS_KEY or AZURE_STORAGE_SAS_TOKEN");
        }
        String suffix = variable.apply("AZURE_ENDPOINT_SUFFIX");
        builder.endpoint("https://" + account + ".blob." + (suffix == null ? SUFFIX : suffix));
        if (key != null) {
            builder.credential(new StorageSharedKeyCredential(account, key));
        } else {
            builder.sasToken(token);
        }
    }

    @Override
    public List<StoredObject> list(String folder) {
        String inside = prefix + (folder.isEmpty() ? "" : folder + "/");
        try {
            List<StoredObject> found = new ArrayList<>();
            client.listBlobsByHierarchy("/", new ListBlobsOptions().setPrefix(inside), null)
                    .forEach(each -> {
                        if (!Boolean.TRUE.equals(each.isPrefix())) {
                            found.add(describe(each));
                        }
                    });
            found.sort(Comparator.comparing(StoredObject::name));
            return found;
        } catch (RuntimeException e) {
            throw failed("list " + inside, e);
        }
    }

    private StoredObject describe(BlobItem blob) {
        BlobItemProperties properties = blob.getProperties();
        Long size = properties == null ? null : properties.getContentLength();
        OffsetDateTime modified = properties == null ? null : properties.getLastModified();
        return new StoredObject(
                blob.getName().substring(prefix.length()),
                size == null ? 0 : size,
                modified == null ? Instant.EPOCH : modified.toInstant());
    }

    @Override
    public @Nullable InputStream open(String name, long offset) {
        try {
            return client.getBlobClient(prefix + name)
                    .openInputStream(new BlobInputStreamOptions().setRange(new BlobRange(offset)));
        } catch (RuntimeException e) {
            if (e instanceof BlobStorageException answer && answer.getStatusCode() == 404) {
                return null;
            }
            throw failed("read " + name, e);
        }
    }

    private WalshadowException failed(String what, RuntimeException cause) {
        if (cause instanceof WalshadowException known) {
            return known;
        }
        Throwable at = cause;
        while (!(at instanceof BlobStorageException) && at.getCause() != null) {
            at = at.getCause();
        }
        String found = address() + ": cannot " + what + ": ";
        if (at instanceof BlobStorageException answer) {
            String said = answer.getStatusCode() + " " + answer.getErrorCode();
            return ObjectStores.isRefusal(answer.getStatusCode())
                    ? new ConfigurationException(
                            StoreCodes.REFUSED,
                            found
                                    + said
                                    + "; check [backup] url and the variables"
                                    + " AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_ACCESS_KEY and"
                                    + " AZURE_STORAGE_SAS_TOKEN",
                            cause)
                    : new RetryException(StoreCodes.UNREACHABLE, found + said, cause);
        }
        return new RetryException(StoreCodes.UNREACHABLE, found + at, cause);
    }

    @Override
    public String address() {
        return "azure://" + container + "/" + prefix;
    }

    @Override
    public void close() {}
}
