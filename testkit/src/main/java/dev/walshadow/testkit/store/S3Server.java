package dev.walshadow.testkit.store;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * S3, as far as readers need it: ListObjectsV2 with prefix, delimiter and continuation, GetObject
 * with ranges; paths name the bucket.
 */
public final class S3Server extends BucketServer {
    private final String bucket;
    private final String accessKey;

    public S3Server(Path root, String bucket, String accessKey, int page) {
        super(root, page);
        this.bucket = bucket;
        this.accessKey = accessKey;
        start();
    }

    @Override
    void answer(HttpExchange exchange) throws IOException {
        String authorization = exchange.getRequestHeaders().getFirst("Authorization");
        String path = exchange.getRequestURI().getPath();
        if (authorization == null || !authorization.contains("Credential=" + accessKey + "/")) {
            error(exchange, 403, "InvalidAccessKeyId");
        } else if (path.equals("/" + bucket) || path.equals("/" + bucket + "/")) {
            list(exchange);
        } else if (path.startsWith("/" + bucket + "/")) {
            get(
                    exchange,
                    path.substring(bucket.length() + 2),
                    exchange.getRequestHeaders().getFirst("Range"),
                    "NoSuchKey");
        } else {
            error(exchange, 404, "NoSuchBucket");
        }
    }

    private void list(HttpExchange exchange) throws IOException {
        Page page =
                list(
                        query(exchange).getOrDefault("prefix", ""),
                        query(exchange).getOrDefault("continuation-token", ""));
        StringBuilder xml = new StringBuilder(XML).append("<ListBucketResult>");
        for (Entry entry : page.entries()) {
            xml.append("<Contents><Key>")
                    .append(entry.key())
                    .append("</Key><Size>")
                    .append(entry.bytes())
                    .append("</Size><LastModified>")
                    .append(Files.getLastModifiedTime(entry.file()).toInstant())
                    .append("</LastModified></Contents>");
        }
        xml.append("<IsTruncated>").append(page.next() != null).append("</IsTruncated>");
        if (page.next() != null) {
            xml.append("<NextContinuationToken>")
                    .append(page.next())
                    .append("</NextContinuationToken>");
        }
        send(exchange, 200, "application/xml", xml.append("</ListBucketResult>").toString());
    }

    @Override
    void error(HttpExchange exchange, int status, String code) throws IOException {
        send(
                exchange,
                status,
                "application/xml",
                XML + "<Error><Code>" + code + "</Code><Message>" + code + "</Message></Error>");
    }
}
