package dev.walshadow.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** The unit for systemd against the command that it starts. */
final class ServiceUnitTest {
    private static final Path UNIT = Path.of("..", "ops", "systemd", "walshadow.service");

    private static List<String> words(String key) throws IOException {
        String line =
                Files.readAllLines(UNIT).stream()
                        .filter(each -> each.startsWith(key + "="))
                        .findFirst()
                        .orElseThrow();
        return List.of(line.substring(key.length() + 1).split(" "));
    }

    @Test
    void itStartsACommandThatThereIs() throws IOException {
        List<String> start = words("ExecStart");
        CommandLine run =
                Objects.requireNonNull(Main.commandLine().getSubcommands().get(start.get(1)));
        for (String option : start.subList(2, start.size())) {
            if (option.startsWith("--")) {
                assertThat(run.getCommandSpec().findOption(option)).as(option).isNotNull();
            }
        }
        assertThat(words("ExecReload")).contains("-HUP");
    }

    @Test
    void itIsNotRestartedWhereAPersonMustAct() throws IOException {
        assertThat(words("RestartPreventExitStatus"))
                .containsExactly(
                        Integer.toString(ExitCodes.CONFIGURATION),
                        Integer.toString(ExitCodes.HALTED));
    }
}
