package dev.walshadow.pipeline;

import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.NativeBlock;
import dev.walshadow.clickhouse.RowSplit;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/**
 * A batch whose rows lie on several shards: each gets its rows, all at the same time, under a token
 * of its own that is the same for every attempt. A repetition leaves out the shards that have
 * answered success. While it runs each row takes ten bytes.
 */
final class ShardedInsert {
    private final List<ClickHouseClient> shards;
    private final TargetName place;
    private final String token;
    private final NativeBlock block;
    private final RowSplit split;
    private final BitSet sent;

    /** By its inserter, which has the batch for itself. */
    ShardedInsert(List<ClickHouseClient> shards, Batch batch, TargetName place, String token) {
        this.shards = shards;
        this.place = place;
        this.token = token;
        this.block = batch.block.nativeBlock();
        this.split = new ShardKey(batch.block.mapping()).split(block, shards.size());
        BitSet before = batch.sent;
        this.sent = before == null ? new BitSet(shards.size()) : before;
        batch.sent = sent;
    }

    /** Returns when every shard has its rows; else throws what one of the clients has thrown. */
    void run() throws InterruptedException {
        List<Integer> open = new ArrayList<>();
        for (int shard = 0; shard < shards.size(); shard++) {
            if (split.count(shard) > 0 && !sent.get(shard)) {
                open.add(shard);
            }
        }
        List<FutureTask<Void>> tasks = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int shard : open) {
            FutureTask<Void> task = new FutureTask<>(() -> send(shard), null);
            tasks.add(task);
            threads.add(Thread.ofVirtual().name("inserter-of-shard-" + shard).start(task));
        }
        try {
            for (Thread thread : threads) {
                thread.join();
            }
        } catch (InterruptedException e) {
            threads.forEach(Thread::interrupt);
            throw e;
        }
        settle(open, tasks);
    }

    private void send(int shard) {
        shards.get(shard)
                .insert(
                        place.database(),
                        place.table(),
                        block,
                        split,
                        shard,
                        token + "-" + (shard + 1));
    }

    private void settle(List<Integer> open, List<FutureTask<Void>> tasks)
            throws InterruptedException {
        RuntimeException failure = null;
        for (int i = 0; i < tasks.size(); i++) {
            try {
                tasks.get(i).get();
                sent.set(open.get(i));
            } catch (ExecutionException e) {
                if (!(e.getCause() instanceof RuntimeException known)) {
                    throw new IllegalStateException(e.getCause());
                }
                if (failure == null) {
                    failure = known;
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
