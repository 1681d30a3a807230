package dev.walshadow.daemon.replication;

import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.postgres.RelationLocator;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The loader exists once the backup has started, before the first file.
 *
 * @param loader null until then
 */
record LateLoader(Supplier<@Nullable DatabaseLoaders> loader) implements HeapFileSink {
    private HeapFileSink sink() {
        return Objects.requireNonNull(loader.get(), "files come after the start");
    }

    @Override
    public boolean wants(RelationLocator locator) {
        return sink().wants(locator);
    }

    @Override
    public void begin(RelationLocator locator, int segmentNumber, long fileSize)
            throws InterruptedException {
        sink().begin(locator, segmentNumber, fileSize);
    }

    @Override
    public void skipTo(int block) throws InterruptedException {
        sink().skipTo(block);
    }

    @Override
    public void data(byte[] bytes, int offset, int length) throws InterruptedException {
        sink().data(bytes, offset, length);
    }

    @Override
    public void end() throws InterruptedException {
        sink().end();
    }
}
