package dev.walshadow.source.store;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.WalshadowException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.auth.credentials.AwsSessionCredentials;
import software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.ResponseInputStream;
import software.amazon.awssdk.core.checksums.ResponseChecksumValidation;
import software.amazon.awssdk.core.exception.AbortedException;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.S3ClientBuilder;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.ListObjectsV2Request;
import software.amazon.awssdk.services.s3.model.NoSuchKeyException;
import software.amazon.awssdk.services.s3.model.S3Exception;
import software.amazon.awssdk.services.s3.model.S3Object;

/**
 * A bucket of S3 or of a server that speaks its protocol. Credentials, region and endpoint come
 * from the variables that wal-g reads: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN,
 * AWS_REGION, AWS_ENDPOINT, AWS_S3_FORCE_PATH_STYLE; without a key, from where the AWS SDK looks
 * (profile files, the machine's role).
 */
public final class S3ObjectStore implements ObjectStore {
    private static final String ANY_REGION = "us-east-1";

    private final S3Client client;
    private final String bucket;

    /** Empty, or with a slash at its end. */
    private final String prefix;

    /**
     * @param prefix in front of every name; with or without slashes at its ends
     * @param variable the environment; answers null for what is not set
     */
    public S3ObjectStore(String bucket, String prefix, UnaryOperator<@Nullable String> variable) {
        this.bucket = bucket;
        this.prefix = ObjectStores.folder(prefix);
        S3ClientBuilder builder =
                S3Client.builder()
                        .httpClientBuilder(UrlConnectionHttpClient.builder())
                        .credentialsProvider(credentials(variable))
                        .responseChecksumValidation(ResponseChecksumValidation.WHEN_REQUIRED)
                        .forcePathStyle(
                                Boolean.parseBoolean(variable.apply("AWS_S3_FORCE_PATH_STYLE")));
        String region = variable.apply("AWS_REGION");
        String endpoint = variable.apply("AWS_ENDPOINT");
        if (endpoint != null && !endpoint.isBlank()) {
            builder.endpointOverride(endpoint(endpoint));
            region = region == null ? ANY_REGION : region;
        }
        if (region != null) {
            builder.region(Region.of(region));
        }
        try {
            client = builder.build();
        } catch (SdkException e) {
            throw new ConfigurationException(
                    StoreCodes.BAD_ADDRESS,
                    address() + " cannot be used: " + e.getMessage() + "; set AWS_REGION",
                    e);
        }
    }

    private static URI endpoint(String text) {
        try {
            return URI.create(text.contains("://") ? text : "https://" + text);
        } catch (IllegalArgumentException e) {
            throw new ConfigurationException(
                    StoreCodes.BAD_ADDRESS, "AWS_ENDPOINT is no address: " + text, e);
        }
    }

    private static AwsCredentialsProvider credentials(UnaryOperator<@Nullable String> variable) {
        String key = variable.apply("AWS_ACCESS_KEY_ID");
        String secret = variable.apply("AWS_SECRET_ACCESS_KEY");
        if (key == null || secret == null) {
            return DefaultCredentialsProvider.builder().build();
        }
        String token = variable.apply("AWS_SESSION_TOKEN");
        AwsCredentials found =
                token == null
                        ? AwsBasicCredentials.create(key, secret)
                        : AwsSessionCredentials.create(key, secret, token);
        return StaticCredentialsProvider.create(found);
    }

    @Override
    public List<StoredObject> list(String folder) {
        String inside = prefix + (folder.isEmpty() ? "" : folder + "/");
        ListObjectsV2Request request =
                ListObjectsV2Request.builder().bucket(bucket).prefix(inside).delimiter("/").build();
        return asking(
                "list " + inside,
                () -> {
                    List<StoredObject> found = new ArrayList<>();
                    for (S3Object each : client.listObjectsV2Paginator(request).contents()) {
                        found.add(describe(each));
                    }
                    found.sort(Comparator.comparing(StoredObject::name));
                    return found;
                });
    }

    private StoredObject describe(S3Object object) {
        Instant modified = object.lastModified();
        Long size = object.size();
        return new StoredObject(
                object.key().substring(prefix.length()),
                size == null ? 0 : size,
                modified == null ? Instant.EPOCH : modified);
    }

    @Override
    public @Nullable InputStream open(String name, long offset) {
        GetObjectRequest.Builder request =
                GetObjectRequest.builder().bucket(bucket).key(prefix + name);
        if (offset > 0) {
            request.range("bytes=" + offset + "-");
        }
        try {
            return new Answer(client.getObject(request.build()));
        } catch (NoSuchKeyException e) {
            return null;
        } catch (SdkException e) {
            throw failed("read " + name, e);
        }
    }

    /** Closing it early ends the connection instead of reading the rest of the object. */
    private static final class Answer extends FilterInputStream {
        private final ResponseInputStream<GetObjectResponse> body;

        private Answer(ResponseInputStream<GetObjectResponse> body) {
            super(body);
            this.body = body;
        }

        @Override
        public void close() {
            body.abort();
        }
    }

    private <T> T asking(String what, Supplier<T> question) {
        try {
            return question.get();
        } catch (SdkException e) {
            throw failed(what, e);
        }
    }

    private WalshadowException failed(String what, SdkException cause) {
        String found = address() + ": cannot " + what + ": " + cause.getMessage();
        boolean mendable = cause instanceof S3Exception answer ? isRefusal(answer) : isLocal(cause);
        return mendable
                ? new ConfigurationException(
                        StoreCodes.REFUSED,
                        found
                                + "; check [backup] url and the variables AWS_ACCESS_KEY_ID,"
                                + " AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT",
                        cause)
                : new RetryException(StoreCodes.UNREACHABLE, found, cause);
    }

    private static boolean isRefusal(S3Exception answer) {
        return ObjectStores.isRefusal(answer.statusCode()) && !answer.isThrottlingException();
    }

    /** No request was made, for lack of credentials as a rule; not a network that fails. */
    private static boolean isLocal(SdkException failure) {
        if (failure instanceof AbortedException) {
            return false;
        }
        for (Throwable at = failure; at != null; at = at.getCause()) {
            if (at instanceof IOException || at instanceof UncheckedIOException) {
                return false;
            }
        }
        return true;
    }

    @Override
    public String address() {
        return "s3://" + bucket + "/" + prefix;
    }

    @Override
    public void close() {
        client.close();
    }
}
