package dev.walshadow.daemon.monitor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.RecordCursor;
import dev.walshadow.transaction.ToastValues;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** With a clock of its own; times are seconds since 2000. */
final class TransactionTracesTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long EPOCH = 946_684_800L * SECOND;

    private final AtomicLong now = new AtomicLong();
    private final Kept kept = new Kept();

    private TransactionTraces traces(int perMinute) {
        return new TransactionTraces(kept, perMinute, "somewhere", now::get);
    }

    private void at(double seconds) {
        now.set(EPOCH + (long) (seconds * SECOND));
    }

    @Test
    void aTransactionIsToldByItsStages() throws InterruptedException {
        try (TransactionTraces traces = traces(60)) {
            at(101);
            traces.received(500);
            at(102);
            traces.before(changes -> at(104)).commit(new Committed(500, 100));
            at(105);
            traces.durable(499);
            at(107);
            traces.durable(500);
            traces.durable(600);
        }
        assertThat(kept.told())
                .containsExactlyInAnyOrder(
                        "replicate 100.0 107.0",
                        "receive 100.0 101.0",
                        "order 101.0 102.0",
                        "queue 102.0 104.0",
                        "deliver 104.0 107.0");
        SpanData root =
                kept.spans.stream()
                        .filter(span -> span.getName().equals("replicate"))
                        .findFirst()
                        .orElseThrow();
        assertThat(root.getAttributes().asMap().toString())
                .contains("walshadow.xid=7", "walshadow.records=3", "walshadow.commit_lsn=0/1EC");
        assertThat(kept.spans)
                .filteredOn(span -> !span.getName().equals("replicate"))
                .allMatch(span -> span.getParentSpanId().equals(root.getSpanId()));
    }

    @Test
    void oneInEachIntervalIsTold() throws InterruptedException {
        try (TransactionTraces traces = traces(6)) {
            for (int second = 100; second < 200; second++) {
                at(second);
                traces.received(second);
                traces.before(changes -> {}).commit(new Committed(second, second));
                traces.durable(second);
            }
        }
        assertThat(kept.spans).hasSize(10 * 5);
    }

    @Test
    void aSourceWhoseClockIsAheadCommitsWhenItsRecordIsRead() throws InterruptedException {
        try (TransactionTraces traces = traces(60)) {
            at(101);
            traces.received(500);
            traces.before(changes -> traces.durable(500)).commit(new Committed(500, 1_000));
        }
        assertThat(kept.told()).contains("receive 101.0 101.0", "deliver 101.0 101.0");
    }

    private static final class Kept implements SpanExporter {
        final List<SpanData> spans = Collections.synchronizedList(new ArrayList<>());

        List<String> told() {
            return spans.stream()
                    .map(span ->
                            span.getName()
                                    + " "
                                    + seconds(span.getStartEpochNanos())
                                    + " "
                                    + seconds(span.getEndEpochNanos()))
                    .toList();
        }

        private static double seconds(long nanos) {
            return (nanos - EPOCH) / 1e9;
        }

        @Override
        public CompletableResultCode export(Collection<SpanData> more) {
            spans.addAll(more);
            return CompletableResultCode.ofSuccess();
        }

        @Override
        public CompletableResultCode flush() {
            return CompletableResultCode.ofSuccess();
        }

        @Override
        public CompletableResultCode shutdown() {
            return CompletableResultCode.ofSuccess();
        }
    }

    private record Committed(long commitPosition, long seconds) implements CommittedChanges {
        @Override
        public int xid() {
            return 7;
        }

        @Override
        public int databaseOid() {
            return 5;
        }

        @Override
        public long firstLsn() {
            return 1;
        }

        @Override
        public long commitLsn() {
            return commitPosition - 8;
        }

        @Override
        public long commitMicros() {
            return seconds * 1_000_000;
        }

        @Override
        public RecordCursor records() {
            throw new UnsupportedOperationException();
        }

        @Override
        public ToastValues toast() {
            throw new UnsupportedOperationException();
        }

        @Override
        public long recordCount() {
            return 3;
        }

        @Override
        public long bytes() {
            return 300;
        }

        @Override
        public void close() {}
    }
}
