package dev.walshadow.pipeline;

import dev.walshadow.base.RetryException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One write to the ledger at a time, so that a table's newest row is its newest state. Whoever
 * comes while another writes is written with all that came meanwhile, by the first of them. A
 * table's row is taken when it is written, and its caller waits until then.
 *
 * @param <T> what stands for a table
 */
final class LedgerRecorder<T> {
    private static final class Request<T> {
        final T table;
        boolean done;
        @Nullable RuntimeException failure;

        Request(T table) {
            this.table = table;
        }
    }

    private final Consumer<List<T>> writer;
    private final ReentrantLock lock = new ReentrantLock();
    private final ConcurrentLinkedQueue<Request<T>> waiting = new ConcurrentLinkedQueue<>();

    /**
     * @param writer writes the tables' rows of now; throws what kept it from that
     */
    LedgerRecorder(Consumer<List<T>> writer) {
        this.writer = writer;
    }

    /** Returns when the table's row is written; throws what the writer throws. */
    void record(T table) {
        Request<T> own = new Request<>(table);
        waiting.add(own);
        lock.lock();
        try {
            while (!own.done) {
                writeWaiting();
            }
        } finally {
            lock.unlock();
        }
        if (own.failure != null) {
            throw own.failure;
        }
    }

    /** Something that no write overlaps. */
    boolean alone(BooleanSupplier work) {
        lock.lock();
        try {
            return work.getAsBoolean();
        } finally {
            lock.unlock();
        }
    }

    private void writeWaiting() {
        List<Request<T>> together = new ArrayList<>();
        for (Request<T> next = waiting.poll(); next != null; next = waiting.poll()) {
            together.add(next);
        }
        try {
            writer.accept(together.stream().map(request -> request.table).distinct().toList());
            together.forEach(request -> request.done = true);
        } catch (RetryException e) {
            together.forEach(request -> fail(request, e));
        } catch (RuntimeException e) {
            // may be about one of them only
            together.forEach(this::writeAlone);
        } finally {
            // an Error is for its thread; the others try again
            together.stream().filter(request -> !request.done).forEach(waiting::add);
        }
    }

    private void writeAlone(Request<T> request) {
        try {
            writer.accept(List.of(request.table));
            request.done = true;
        } catch (RuntimeException e) {
            fail(request, e);
        }
    }

    private static void fail(Request<?> request, RuntimeException failure) {
        request.failure = failure;
        request.done = true;
    }
}
