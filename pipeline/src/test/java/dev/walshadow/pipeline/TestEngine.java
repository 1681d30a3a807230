package dev.walshadow.pipeline;

import dev.walshadow.base.FileTree;
import dev.walshadow.embedded.EmbeddedClickHouse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The real engine, one or several of them, for all tests of a class. */
public final class TestEngine implements BeforeAllCallback, AfterAllCallback {
    private final int count;
    private final List<EmbeddedClickHouse> servers = new ArrayList<>();

    @SuppressWarnings("NullAway.Init")
    private Path directory;

    /** One engine. */
    public TestEngine() {
        this(1);
    }

    /**
     * @param count of engines, one for each shard
     */
    TestEngine(int count) {
        this.count = count;
    }

    @Override
    public void beforeAll(ExtensionContext context) throws Exception {
        directory = Files.createTempDirectory("walshadow-engine");
        for (int i = 0; i < count; i++) {
            servers.add(EmbeddedClickHouse.start(directory.resolve("clickhouse" + i)));
        }
    }

    @Override
    public void afterAll(ExtensionContext context) throws Exception {
        servers.forEach(EmbeddedClickHouse::close);
        FileTree.delete(directory);
    }

    /** Where harnesses keep their state directories. */
    public Path directory() {
        return directory;
    }

    /** The first of them. */
    public EmbeddedClickHouse server() {
        return servers.getFirst();
    }

    EmbeddedClickHouse server(int shard) {
        return servers.get(shard);
    }

    String query(String sql) {
        return server().query(sql);
    }

    PipelineHarness harness(String name, ItemsTable... tables) throws Exception {
        return harness(directory, name, tables);
    }

    /**
     * @param state where its state directory goes
     */
    PipelineHarness harness(Path state, String name, ItemsTable... tables) throws Exception {
        List<String> urls = servers.stream().map(EmbeddedClickHouse::url).toList();
        return new PipelineHarness(state, urls, name, tables);
    }
}
