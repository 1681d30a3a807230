package dev.walshadow.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.RetryException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class LedgerRecorderTest {
    private static final String FIRST = "first";
    private static final List<String> LATER = List.of("b", "c", "d");

    private final List<List<String>> written = new CopyOnWriteArrayList<>();
    private final CountDownLatch firstWrites = new CountDownLatch(1);
    private final CountDownLatch go = new CountDownLatch(1);

    /** What the writer refuses. */
    private volatile Set<String> refused = Set.of();

    private volatile RuntimeException refusal = new IllegalStateException("refused");

    private final LedgerRecorder<String> recorder = new LedgerRecorder<>(this::write);

    private void write(List<String> tables) {
        if (tables.equals(List.of(FIRST))) {
            firstWrites.countDown();
            try {
                go.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
        if (tables.stream().anyMatch(refused::contains)) {
            throw refusal;
        }
        written.add(tables);
    }

    /** Returns the names of those that were told of a failure. */
    private List<String> recordLaterWhileFirstIsWritten() throws Exception {
        List<String> failed = new ArrayList<>();
        try (ExecutorService threads = Executors.newCachedThreadPool()) {
            Future<?> first = threads.submit(() -> recorder.record(FIRST));
            firstWrites.await();
            List<Thread> waiting = new CopyOnWriteArrayList<>();
            List<Future<?>> later = new ArrayList<>();
            for (String table : LATER) {
                later.add(
                        threads.submit(() -> {
                            waiting.add(Thread.currentThread());
                            recorder.record(table);
                        }));
            }
            while (waiting.size() < LATER.size()
                    || waiting.stream().anyMatch(each -> each.getState() != Thread.State.WAITING)) {
                Thread.onSpinWait();
            }
            go.countDown();
            first.get();
            for (int i = 0; i < later.size(); i++) {
                try {
                    later.get(i).get();
                } catch (ExecutionException e) {
                    assertThat(e).hasCause(refusal);
                    failed.add(LATER.get(i));
                }
            }
        }
        return failed;
    }

    @Test
    void whatComesMeanwhileIsWrittenTogether() throws Exception {
        assertThat(recordLaterWhileFirstIsWritten()).isEmpty();
        assertThat(written).hasSize(2);
        assertThat(written.getLast()).containsExactlyInAnyOrderElementsOf(LATER);
    }

    @Test
    void aTableThatIsRefusedFailsAlone() throws Exception {
        refused = Set.of("c");
        assertThat(recordLaterWhileFirstIsWritten()).containsExactly("c");
        assertThat(written).containsExactlyInAnyOrder(List.of(FIRST), List.of("b"), List.of("d"));
    }

    @Test
    void allAreToldThatTheTargetDoesNotAnswer() throws Exception {
        refused = Set.of("c");
        refusal = new RetryException(PipelineCodes.STOPPED, "no answer", null);
        assertThat(recordLaterWhileFirstIsWritten()).containsExactlyElementsOf(LATER);
        assertThat(written).containsExactly(List.of(FIRST));
    }

    @Test
    void anErrorOfOneLeavesTheOthersToThemselves() {
        LedgerRecorder<String> failing =
                new LedgerRecorder<>(tables -> {
                    throw new AssertionError("fault");
                });
        assertThatThrownBy(() -> failing.record("a")).isInstanceOf(AssertionError.class);
        assertThat(failing.alone(() -> true)).isTrue();
    }
}
