package dev.walshadow.daemon.config;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.Invariant;
import dev.walshadow.fuzz.TestFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;

/** A configuration file of any bytes, and any text for each setting. */
final class ConfigurationFuzzTest {
    private static final Path FILE = TestFile.folder("configuration").resolve("walshadow.toml");
    private static final byte[] RULES =
            """
            [source]
            url = "postgres://postgres@127.0.0.1/postgres"
            [clickhouse]
            url = "http://127.0.0.1:8123"
            [state]
            dir = "/nonexistent"
            """
                    .getBytes(StandardCharsets.UTF_8);

    @FuzzTest(maxDuration = "1m")
    void file(byte[] bytes) {
        load(bytes, Map.of());
        byte[] more = java.util.Arrays.copyOf(RULES, RULES.length + bytes.length);
        System.arraycopy(bytes, 0, more, RULES.length, bytes.length);
        load(more, Map.of());
    }

    /** First byte: the setting. */
    @FuzzTest(maxDuration = "1m")
    void setting(byte[] bytes) {
        if (bytes.length > 0) {
            var settings = Settings.all();
            Setting<?> setting = settings.get((bytes[0] & 0xFF) % settings.size());
            String text = new String(bytes, 1, bytes.length - 1, StandardCharsets.UTF_8);
            load(RULES, Map.of(setting.flag(), text));
        }
    }

    private static void load(byte[] content, Map<String, String> flags) {
        TestFile.write(FILE, content);
        try {
            Configuration configuration = ConfigurationLoader.load(FILE, Map.of(), flags);
            Invariant.check(configuration.nameRules() != null, "a configuration is whole");
        } catch (ConfigurationException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }
}
