package dev.walshadow.daemon.replication;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.ConfigurationLoader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ArchivedSourceTest {
    @TempDir Path directory;

    private Configuration with(String source, String more) throws IOException {
        Path file = directory.resolve("walshadow.toml");
        Files.writeString(
                file,
                """
                [source]
                mode = "archive"
                databases = ["db"]
                %s
                [clickhouse]
                url = "http://host:8123"
                [state]
                dir = "/var/lib/walshadow"
                [backup]
                url = "file:///backups"
                %s
                """
                        .formatted(source, more));
        return ConfigurationLoader.load(file, Map.of(), Map.of());
    }

    @Test
    void whatOnlyASourceCanGiveIsRefused() throws IOException {
        Configuration tables = with("config_schema = \"ops\"", "");
        assertThatThrownBy(() -> ArchivedSource.check(tables))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("[source] config_schema")
                .hasMessageContaining("WS-1901");
        Configuration compared = with("", "[verify]\ninterval = \"1min\"");
        assertThatThrownBy(() -> ArchivedSource.check(compared))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("[verify] interval");
        Configuration plain = with("config_schema = \"\"", "");
        assertThatCode(() -> ArchivedSource.check(plain)).doesNotThrowAnyException();
    }
}
