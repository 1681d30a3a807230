package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.embedded.FreePort;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.testkit.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A newcomer with the README alone: every command of its walk as it is printed, in a shell, with
 * other ports and another folder. The servers and {@code run} get a terminal of their own, a
 * process that goes on; a comment that says Ctrl-C interrupts one.
 */
@Timeout(900)
final class NewcomerTest {
    private static final String WALK = "## Try it with servers of its own";
    private static final String INTERRUPT = "# Ctrl-C in the terminal of: ";
    private static final List<String> FOREGROUND =
            List.of("./walshadow postgres", "./walshadow clickhouse", "./walshadow run");
    private static final long POLL_NANOS = 50_000_000;

    private record Terminal(Process process, Path output) {}

    /** What each command printed, by the command; of one that is printed twice the last. */
    private final Map<String, String> printed = new LinkedHashMap<>();

    private final Map<String, Terminal> terminals = new LinkedHashMap<>();
    private final List<Integer> ports = List.of(FreePort.next(), FreePort.next(), FreePort.next());

    private int played;

    @TempDir private Path home;

    @AfterEach
    void closeTerminals() throws InterruptedException {
        for (Terminal terminal : List.copyOf(terminals.values()).reversed()) {
            terminal.process().destroy();
            if (!terminal.process().waitFor(60, TimeUnit.SECONDS)) {
                terminal.process().destroyForcibly().waitFor();
            }
        }
    }

    @Test
    void theReadmeLeadsFromNothingToAVerifiedTarget() throws Exception {
        Files.setPosixFilePermissions(home, PosixFilePermissions.fromString("rwxr-xr-x"));
        UnprivilegedUser.createDirectory(home.resolve("ws"));
        theProgram();
        String walk = Documentation.section(Files.readString(Documentation.readme()), WALK);
        for (String block : Documentation.blocks(walk, "sh")) {
            for (String command : Documentation.commands(block)) {
                play(command);
            }
        }
        assertThat(said("SELECT state, count()")).isEqualTo("new\t990\npaid\t10\n");
        assertThat(said("./walshadow check")).contains("can start");
        assertThat(said("ctl reload")).contains("batch.age");
        assertThat(said("./walshadow status")).contains("to see what happens");
        assertThat(said("SELECT entry")).isEqualTo("opened\npaused\n");
        assertThat(said("SELECT note")).isEqualTo("none\t990\n");
        assertThat(said("./walshadow verify")).contains("public.orders").contains("public.journal");
        assertThat(terminals.values()).hasSize(3).allMatch(t -> t.process().isAlive());
    }

    /**
     * {@code ./walshadow} as it is, but for the build: with the classes that this test runs with.
     */
    private void theProgram() throws IOException {
        Path program = home.resolve("walshadow");
        Files.writeString(
                program,
                """
                #!/usr/bin/env bash
                set -euo pipefail
                . '%s'
                find_java java
                run_java '%s' -- "$@"
                """
                        .formatted(
                                Path.of("..", "scripts", "java.sh").toAbsolutePath().normalize(),
                                System.getProperty("java.class.path")));
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private void play(String command) throws IOException, InterruptedException {
        if (command.startsWith(INTERRUPT)) {
            interrupt("./" + command.substring(INTERRUPT.length()));
            return;
        }
        assertThat(command).as("a comment that tells to do something").doesNotStartWith("#");
        String name = FOREGROUND.stream().filter(command::startsWith).findFirst().orElse("");
        Path output = home.resolve("printed-" + played++);
        Path messages = home.resolve(output.getFileName() + "-messages");
        Process process =
                new ProcessBuilder("bash", "-c", (name.isEmpty() ? "" : "exec ") + here(command))
                        .directory(home.toFile())
                        .redirectError(
                                ProcessBuilder.Redirect.appendTo(
                                        (name.isEmpty() ? messages : output).toFile()))
                        .redirectOutput(ProcessBuilder.Redirect.appendTo(output.toFile()))
                        .start();
        if (name.isEmpty()) {
            int code = process.waitFor();
            String text = Files.readString(output);
            String why = text + Files.readString(messages) + endOfRun();
            assertThat(code).as("%s\n%s", command, why).isZero();
            printed.put(command, text);
        } else {
            Terminal terminal = new Terminal(process, output);
            assertThat(terminals.put(name, terminal)).as(name + " runs once").isNull();
            if (!name.endsWith("run")) {
                awaitReady(command, terminal);
            }
        }
    }

    /** The command with this test's folder and ports. */
    private String here(String command) {
        return command.replace("/tmp/ws", home.resolve("ws").toString())
                .replace("5500", ports.get(0).toString())
                .replace("8500", ports.get(1).toString())
                .replace("9464", ports.get(2).toString());
    }

    private void interrupt(String name) throws IOException, InterruptedException {
        Terminal terminal = terminals.remove(name);
        if (terminal == null) {
            throw new IllegalStateException(name + " does not run");
        }
        String pid = Long.toString(terminal.process().pid());
        // not SIGINT: what a script started in the background ignores that, and so do its children
        assertThat(new ProcessBuilder("kill", "-TERM", pid).start().waitFor()).isZero();
        assertThat(terminal.process().waitFor(60, TimeUnit.SECONDS)).as(name + " ends").isTrue();
    }

    private static void awaitReady(String command, Terminal terminal) throws IOException {
        long deadline = System.nanoTime() + Installation.PATIENCE.toNanos();
        while (Files.readString(terminal.output()).lines().noneMatch(l -> l.startsWith("ready"))) {
            assertThat(terminal.process().isAlive() && System.nanoTime() < deadline)
                    .as("%s says ready\n%s", command, Files.readString(terminal.output()))
                    .isTrue();
            LockSupport.parkNanos(POLL_NANOS);
        }
    }

    private String endOfRun() throws IOException {
        Terminal run = terminals.get("./walshadow run");
        if (run == null) {
            return "";
        }
        List<String> lines = new ArrayList<>(Files.readAllLines(run.output()));
        return String.join("\n", lines.subList(Math.max(0, lines.size() - 40), lines.size()));
    }

    /** What was printed by the last command with this text. */
    private String said(String part) {
        return printed.entrySet().stream()
                .filter(command -> command.getKey().contains(part))
                .map(Map.Entry::getValue)
                .reduce((_, last) -> last)
                .orElseThrow(() -> new IllegalStateException("no command with " + part));
    }
}
