package dev.walshadow.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * Loads what the commands load, for the cache from which later starts take their classes ({@code
 * -XX:AOTCacheOutput}): runs commands that need no server, or fail for want of one, and loads every
 * class of walshadow and of what it speaks to PostgreSQL with. Nobody else calls it.
 */
final class StartTraining {
    private static final String SUFFIX = ".class";

    /** Of what a start needs when its servers answer, as none does here. */
    private static final List<String> PACKAGES = List.of("dev/walshadow/", "org/postgresql/");

    private StartTraining() {}

    /**
     * @param arguments an empty directory to work in
     */
    public static void main(String[] arguments) throws IOException {
        Path file = Path.of(arguments[0], "training.toml");
        Files.writeString(
                file,
                """
                [source]
                url = "postgres://walshadow@127.0.0.1:1/training"
                [clickhouse]
                url = "http://127.0.0.1:1"
                [state]
                dir = "%s"
                [http]
                listen = "127.0.0.1:0"
                """
                        .formatted(Path.of(arguments[0], "state")));
        String configuration = file.toString();
        execute("version");
        execute("run", "--help");
        execute("config", "show", "--config", configuration);
        execute("status", "--config", configuration);
        execute("ctl", "status", "--config", configuration);
        execute("check", "--config", configuration);
        execute("run", "--config", configuration);
        loadAll();
        System.exit(ExitCodes.OK);
    }

    private static void execute(String... words) {
        PrintWriter nowhere = new PrintWriter(Writer.nullWriter());
        Main.commandLine().setOut(nowhere).setErr(nowhere).execute(words);
    }

    private static void loadAll() throws IOException {
        for (String entry : System.getProperty("java.class.path", "").split(":", -1)) {
            if (entry.endsWith(".jar")) {
                classes(Path.of(entry)).forEach(StartTraining::load);
            }
        }
    }

    private static void load(String name) {
        try {
            Class.forName(name, false, StartTraining.class.getClassLoader());
        } catch (ClassNotFoundException | LinkageError e) {
            // it is of a part that is not here: so no command loads it
        }
    }

    private static List<String> classes(Path jar) throws IOException {
        try (JarFile file = new JarFile(jar.toFile())) {
            return file.stream()
                    .map(JarEntry::getName)
                    .filter(name -> name.endsWith(SUFFIX))
                    .filter(name -> PACKAGES.stream().anyMatch(name::startsWith))
                    .map(name -> name.substring(0, name.length() - SUFFIX.length()))
                    .map(name -> name.replace('/', '.'))
                    .toList();
        }
    }
}
