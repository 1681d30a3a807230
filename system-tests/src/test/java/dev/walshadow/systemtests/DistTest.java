package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The archive that {@code scripts/dist} makes, unpacked and run without anything of the build. */
@Timeout(900)
final class DistTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    @TempDir private Path folder;

    private record Said(int exitCode, String text) {}

    private Said run(Path program, Map<String, String> environment, String... arguments)
            throws IOException, InterruptedException {
        Path output = Files.createTempFile(folder, "said", ".txt");
        ProcessBuilder process =
                new ProcessBuilder(program.toString())
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile());
        process.command().addAll(List.of(arguments));
        process.environment().put("JAVA_HOME", System.getProperty("java.home"));
        process.environment().put("WALSHADOW_CACHE", folder.resolve("cache").toString());
        process.environment().putAll(environment);
        int code = process.start().waitFor();
        return new Said(code, Files.readString(output));
    }

    /** Without the binaries of PostgreSQL, which are large and used elsewhere. */
    private Path dist(String name, String classPath) throws IOException, InterruptedException {
        Path none = Files.createDirectories(folder.resolve("none"));
        Files.writeString(none.resolve("placeholder.jar"), "");
        Path output = folder.resolve(name);
        Said said =
                run(
                        ROOT.resolve("scripts/dist"),
                        Map.of(),
                        "--output",
                        output.toString(),
                        "--class-path",
                        classPath,
                        "--postgres",
                        none.toString());
        assertThat(said.exitCode()).as(said.text()).isZero();
        try (Stream<Path> files = Files.list(output)) {
            return files.toList().getFirst();
        }
    }

    private Path unpacked(Path archive) throws IOException, InterruptedException {
        Said said =
                run(
                        Path.of("/bin/tar"),
                        Map.of(),
                        "-xzf",
                        archive.toString(),
                        "-C",
                        folder.toString());
        assertThat(said.exitCode()).as(said.text()).isZero();
        return folder.resolve(String.valueOf(archive.getFileName()).replace(".tar.gz", ""));
    }

    private static String wholeClassPath() {
        return Arrays.stream(System.getProperty("java.class.path", "").split(":", -1))
                .map(entry -> Path.of(entry).toAbsolutePath().toString())
                .collect(Collectors.joining(":"));
    }

    @Test
    void theSameSourcesGiveTheSameBytes() throws Exception {
        Path classes = Files.createDirectories(folder.resolve("some/classes"));
        Files.writeString(classes.resolve("A.class"), "a");
        Files.writeString(classes.resolve("B.class"), "b");
        Path one = dist("one", classes.toString());
        Files.setLastModifiedTime(classes.resolve("A.class"), FileTime.fromMillis(0));
        Path other = dist("other", classes.toString());
        assertThat(Files.mismatch(one, other)).isEqualTo(-1);
    }

    /** A dependency that only names others is a POM; what is no jar spoils the cache of classes. */
    @Test
    void whatHasNoClassesIsLeftOut() throws Exception {
        Path classes = Files.createDirectories(folder.resolve("some/classes"));
        Files.writeString(classes.resolve("A.class"), "a");
        Path pom = Files.writeString(folder.resolve("others-1.0.pom"), "<project/>");
        Path home = unpacked(dist("out", pom + ":" + classes));
        try (Stream<Path> files = Files.list(home.resolve("lib"))) {
            assertThat(files.map(file -> String.valueOf(file.getFileName())))
                    .containsExactlyInAnyOrder("100-classes.jar", "java.sh", "postgres-binaries");
        }
    }

    @Test
    void itRunsFromItsFolderAlone() throws Exception {
        Path home = unpacked(dist("out", wholeClassPath()));
        Path walshadow = home.resolve("bin/walshadow");
        Said version = run(walshadow, Map.of("WALSHADOW_AOT", "off"), "version");
        assertThat(version.exitCode()).as(version.text()).isZero();
        String number = Files.readString(home.resolve("VERSION")).strip();
        assertThat(version.text())
                .startsWith("walshadow " + number)
                .contains("PostgreSQL  15 to 18")
                .contains("ClickHouse  23.2 or newer");
        assertThat(Files.readString(ROOT.resolve("pom.xml")))
                .contains("<version>" + number + "</version>");
        Said wrong = run(walshadow, Map.of("JAVA_HOME", "/nowhere", "PATH", "/usr/bin:/bin"), "x");
        assertThat(wrong.exitCode()).isEqualTo(2);
        for (String file : List.of("docs/upgrade.md", "ops/systemd/walshadow.service", "LICENSE")) {
            assertThat(home.resolve(file)).isNotEmptyFile();
        }
    }

    @Tag("soak")
    @Test
    void aPreparedStartTakesItsClassesFromTheCache() throws Exception {
        Path walshadow = unpacked(dist("out", wholeClassPath())).resolve("bin/walshadow");
        Said prepared = run(walshadow, Map.of(), "prepare");
        assertThat(prepared.exitCode()).as(prepared.text()).isZero();
        Said loaded =
                run(
                        walshadow,
                        Map.of("WALSHADOW_JAVA_OPTIONS", "-Xlog:class+load=info"),
                        "version");
        assertThat(loaded.text())
                .containsPattern("dev.walshadow.cli.Main source: shared objects file")
                .containsPattern("picocli.CommandLine source: shared objects file")
                .doesNotContainPattern("picocli\\S+ source: file:");
    }

    /** Its lambdas show what the training did: without servers it does not come that far. */
    @Tag("soak")
    @Test
    void theCacheIsTrainedByAStartWithServers() throws Exception {
        // the cache lies in it, and PostgreSQL may run as another user
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        Path home = unpacked(dist("out", wholeClassPath()));
        try (Stream<Path> archives =
                Files.list(ROOT.resolve("embedded/target/postgres-binaries"))) {
            Path newest =
                    archives.filter(file -> file.toString().contains("-18."))
                            .findFirst()
                            .orElseThrow();
            Files.copy(newest, home.resolve("lib/postgres-binaries").resolve(newest.getFileName()));
        }
        Path walshadow = home.resolve("bin/walshadow");
        Path state = folder.resolve("a real one");
        Said prepared = run(walshadow, Map.of("WALSHADOW_STATE_DIR", "" + state), "prepare");
        assertThat(prepared.exitCode()).as(prepared.text()).isZero();
        assertThat(state).doesNotExist();
        Said loaded =
                run(
                        walshadow,
                        Map.of("WALSHADOW_JAVA_OPTIONS", "-Xlog:class+load=info"),
                        "version");
        assertThat(loaded.text())
                .containsPattern("replication.Replication..Lambda\\S+ source: shared objects file");
    }
}
