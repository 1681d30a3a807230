package dev.walshadow.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * {@code ./walshadow} in a checkout of its own, whose build is a program that writes jars where
 * Maven does, over those that are there.
 */
@Timeout(300)
final class StartScriptTest {
    private static final Path CHECKOUT = checkout();

    @TempDir private Path root;

    private static Path checkout() {
        Path at = Path.of("").toAbsolutePath();
        while (!Files.exists(at.resolve("walshadow"))) {
            at = Objects.requireNonNull(at.getParent());
        }
        return at;
    }

    @Test
    void whatRunsKeepsItsClassesWhileALaterBuildReplacesThem() throws Exception {
        lay();
        release("first");
        Process running = start("linger");
        BufferedReader said = said(running);
        assertThat(said.readLine()).isEqualTo("first lingers");
        assertThat(copies()).hasSize(1);

        release("second");
        assertThat(output(start("version"))).isEqualTo("second");
        assertThat(copies()).hasSize(2);
        running.getOutputStream().write('\n');
        running.getOutputStream().flush();
        assertThat(said.readLine()).isEqualTo("first ends");
        assertThat(running.waitFor()).isZero();

        assertThat(output(start("version"))).isEqualTo("second");
        release("third");
        assertThat(output(start("version"))).isEqualTo("third");
        assertThat(copies()).hasSize(1);
    }

    @Test
    void theArchivesOfTheServersLieBesideTheClasses() throws Exception {
        lay();
        release("first");
        assertThat(output(start("archive"))).isEqualTo("PostgreSQL's binaries");
        assertThat(copies()).hasSize(1);
    }

    private void lay() throws IOException {
        for (String name : List.of("cli/src/main", "base/src/main", "base/target", "tools")) {
            Files.createDirectories(root.resolve(name));
        }
        for (String name : List.of("scripts/toolchain.sh", "scripts/java.sh", "walshadow")) {
            Files.createDirectories(Objects.requireNonNull(root.resolve(name).getParent()));
            Files.copy(CHECKOUT.resolve(name), root.resolve(name));
        }
        script("embedded/libchdb/install", "exit 0");
        // as Maven's jar plugin does: into the file that is there
        script(
                "tools/mvn",
                "cat cli/src/main/wanted.jar >cli/target/walshadow-cli-1.jar",
                "cat base/src/main/wanted.jar >base/target/base.jar",
                "mkdir -p embedded/target/postgres-binaries",
                "echo \"PostgreSQL's binaries\" >embedded/target/postgres-binaries/18.jar",
                "printf %s \"$PWD/base/target/base.jar\" >cli/target/classpath.txt");
        for (String name : List.of("pom.xml", "cli/pom.xml", "base/pom.xml")) {
            Files.writeString(root.resolve(name), "");
        }
    }

    private void script(String name, String... lines) throws IOException {
        Path file = root.resolve(name);
        Files.createDirectories(Objects.requireNonNull(file.getParent()));
        Files.writeString(file, "#!/bin/bash\nset -e\n" + String.join("\n", lines) + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    /** Changes the sources. */
    private void release(String name) throws IOException {
        Path work = Files.createDirectories(root.resolve("work-" + name));
        Path main = Files.createDirectories(work.resolve("dev/walshadow/cli")).resolve("Main.java");
        Files.writeString(
                main,
                """
                package dev.walshadow.cli;
                public class Main {
                    public static void main(String[] arguments) throws Exception {
                        if (arguments[0].equals("linger")) {
                            System.out.println("%s lingers");
                            System.in.read();
                            System.out.println(Late.text());
                        } else if (arguments[0].equals("archive")) {
                            var jar = java.nio.file.Path.of(
                                    Main.class.getProtectionDomain().getCodeSource().getLocation().toURI());
                            System.out.print(java.nio.file.Files.readString(
                                    jar.resolveSibling("postgres-binaries/18.jar")));
                        } else {
                            System.out.println("%s");
                        }
                    }
                }
                """
                        .formatted(name, name));
        Path late = work.resolve("Late.java");
        Files.writeString(
                late,
                "package dev.walshadow.cli; public class Late { public static String text() {"
                        + " return \""
                        + name
                        + " ends\"; } }");
        Path classes = work.resolve("classes");
        tool("javac", "-d", classes.toString(), main.toString(), late.toString());
        jar(classes, "dev/walshadow/cli/Main.class", root.resolve("cli/src/main/wanted.jar"));
        jar(classes, "dev/walshadow/cli/Late.class", root.resolve("base/src/main/wanted.jar"));
    }

    private static void jar(Path classes, String name, Path into) {
        tool("jar", "--create", "--file", into.toString(), "-C", classes.toString(), name);
    }

    private static void tool(String name, String... arguments) {
        int code =
                ToolProvider.findFirst(name).orElseThrow().run(System.out, System.err, arguments);
        assertThat(code).as(name).isZero();
    }

    private Process start(String command) throws IOException {
        List<String> line = new ArrayList<>(List.of(root.resolve("walshadow").toString(), command));
        ProcessBuilder process =
                new ProcessBuilder(line).redirectError(ProcessBuilder.Redirect.INHERIT);
        process.environment().put("JAVA_HOME", System.getProperty("java.home"));
        process.environment().remove("WALSHADOW_JAVA_OPTIONS");
        process.environment().put("PATH", root.resolve("tools") + ":" + System.getenv("PATH"));
        return process.start();
    }

    private static BufferedReader said(Process process) {
        return new BufferedReader(
                new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    private static String output(Process process) throws Exception {
        String text =
                new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        assertThat(process.waitFor()).as(text).isZero();
        return text;
    }

    private List<Path> copies() throws IOException {
        try (Stream<Path> found = Files.list(root.resolve("cli/target/run"))) {
            return found.toList();
        }
    }
}
