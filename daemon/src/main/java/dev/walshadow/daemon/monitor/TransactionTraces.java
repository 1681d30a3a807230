package dev.walshadow.daemon.monitor;

import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.transaction.CommitSink;
import dev.walshadow.transaction.CommittedChanges;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.BatchSpanProcessor;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.logging.Level;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Traces of sampled transactions, sent by OTLP over HTTP:
 *
 * <pre>
 * replicate   from the commit on the source until it is durable in ClickHouse
 *   receive   until its commit record has been read
 *   order     until it is handed over: for commits before it, and the shadow where it changes tables
 *   queue     until the pipeline has taken it: how long ClickHouse held the stream back
 *   deliver   until its last row is durable
 * </pre>
 *
 * A source whose clock is ahead commits no later than its record is read. What cannot be sent is
 * dropped. {@link #received} and the sink are for the WAL pump, the rest for any thread.
 */
public final class TransactionTraces implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(TransactionTraces.class);

    /** Of OpenTelemetry's own log: what it says is said here. */
    private static final java.util.logging.Logger THEIRS =
            java.util.logging.Logger.getLogger("io.opentelemetry");

    private static final int MOST_OPEN = 1_000;
    private static final Duration LAST_WORDS = Duration.ofSeconds(2);
    private static final long POSTGRES_EPOCH_NANOS =
            Instant.parse("2000-01-01T00:00:00Z").getEpochSecond() * 1_000_000_000L;

    private final SdkTracerProvider provider;
    private final Tracer tracer;
    private final long everyNanos;
    private final LongSupplier now;

    // the pump's
    private long receivedPosition;
    private long receivedNanos;
    private long nextNanos;

    /** In commit order; its own lock. */
    private final Deque<Sample> open = new ArrayDeque<>();

    private volatile boolean anyOpen;

    /** Times are nanoseconds since 1970; 0: not yet. */
    private static final class Sample {
        final int xid;
        final long position;
        final long commitLsn;
        final long records;
        final long bytes;
        final long committed;
        final long received;
        final long handedOver;
        long taken;

        Sample(CommittedChanges changes, long received, long handedOver) {
            xid = changes.xid();
            position = changes.commitPosition();
            commitLsn = changes.commitLsn();
            records = changes.recordCount();
            bytes = changes.bytes();
            committed = Math.min(received, POSTGRES_EPOCH_NANOS + changes.commitMicros() * 1_000L);
            this.received = received;
            this.handedOver = handedOver;
        }
    }

    /**
     * @param url where spans are posted to, e.g. {@code http://127.0.0.1:4318/v1/traces}
     * @param perMinute most transactions that are sampled
     * @param source what the traces call the source, e.g. host:port
     * @throws IllegalArgumentException it is no URL
     */
    public TransactionTraces(String url, int perMinute, String source) {
        this(exporter(url), perMinute, source, TransactionTraces::systemNanos);
    }

    TransactionTraces(SpanExporter exporter, int perMinute, String source, LongSupplier now) {
        this.now = now;
        everyNanos = TimeUnit.MINUTES.toNanos(1) / perMinute;
        provider =
                SdkTracerProvider.builder()
                        .setResource(
                                Resource.create(
                                        Attributes.builder()
                                                .put("service.name", "walshadow")
                                                .put("walshadow.source", source)
                                                .build()))
                        .addSpanProcessor(BatchSpanProcessor.builder(exporter).build())
                        .build();
        tracer = provider.get("walshadow");
    }

    private static SpanExporter exporter(String url) {
        THEIRS.setLevel(Level.OFF);
        return new Telling(OtlpHttpSpanExporter.builder().setEndpoint(url).build(), url);
    }

    private static long systemNanos() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000L + now.getNano();
    }

    /** The commit record that ends at this position was read. */
    public void received(long position) {
        receivedPosition = position;
        receivedNanos = now.getAsLong();
    }

    /** Hands on to {@code sink}, and samples. */
    public CommitSink before(CommitSink sink) {
        return changes -> {
            long handedOver = now.getAsLong();
            if (handedOver < nextNanos || changes.commitPosition() != receivedPosition) {
                sink.commit(changes);
                return;
            }
            nextNanos = handedOver + everyNanos;
            // what was sampled of it cannot be read any more when the sink has it
            Sample sample = new Sample(changes, receivedNanos, handedOver);
            add(sample);
            sink.commit(changes);
            taken(sample);
        };
    }

    private void add(Sample sample) {
        synchronized (open) {
            if (open.size() < MOST_OPEN) {
                open.add(sample);
                anyOpen = true;
            }
        }
    }

    private void taken(Sample sample) {
        synchronized (open) {
            sample.taken = now.getAsLong();
        }
    }

    /** Everything that committed up to a position is durable. */
    public void durable(long position) {
        if (!anyOpen) {
            return;
        }
        long end = now.getAsLong();
        synchronized (open) {
            while (!open.isEmpty() && open.getFirst().position <= position) {
                tell(open.removeFirst(), end);
            }
            anyOpen = !open.isEmpty();
        }
    }

    private void tell(Sample sample, long end) {
        long taken = sample.taken == 0 ? end : sample.taken;
        Span root =
                tracer.spanBuilder("replicate")
                        .setNoParent()
                        .setStartTimestamp(sample.committed, TimeUnit.NANOSECONDS)
                        .setAttribute("walshadow.xid", Integer.toUnsignedLong(sample.xid))
                        .setAttribute("walshadow.commit_lsn", Lsn.format(sample.commitLsn))
                        .setAttribute("walshadow.records", sample.records)
                        .setAttribute("walshadow.bytes", sample.bytes)
                        .startSpan();
        Context within = Context.root().with(root);
        part("receive", within, sample.committed, sample.received);
        part("order", within, sample.received, sample.handedOver);
        part("queue", within, sample.handedOver, taken);
        part("deliver", within, taken, end);
        root.end(end, TimeUnit.NANOSECONDS);
    }

    private void part(String name, Context within, long start, long end) {
        tracer.spanBuilder(name)
                .setParent(within)
                .setStartTimestamp(start, TimeUnit.NANOSECONDS)
                .startSpan()
                .end(end, TimeUnit.NANOSECONDS);
    }

    /** Sends what is complete, within two seconds. */
    @Override
    public void close() {
        provider.shutdown().join(LAST_WORDS.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** Says what could not be sent. */
    private record Telling(SpanExporter exporter, String url) implements SpanExporter {
        @Override
        public CompletableResultCode export(Collection<SpanData> spans) {
            CompletableResultCode result = exporter.export(spans);
            result.whenComplete(() -> {
                if (!result.isSuccess()) {
                    Throwable cause = result.getFailureThrowable();
                    LOG.warn(
                            "{} traces cannot be sent to {}{}; check [traces] url, and that a"
                                    + " collector takes OTLP over HTTP there",
                            DaemonCodes.TRACES,
                            url,
                            cause == null ? "" : " (" + cause + ")");
                }
            });
            return result;
        }

        @Override
        public CompletableResultCode flush() {
            return exporter.flush();
        }

        @Override
        public CompletableResultCode shutdown() {
            return exporter.shutdown();
        }
    }
}
