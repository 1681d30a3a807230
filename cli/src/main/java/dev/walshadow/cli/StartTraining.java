package dev.walshadow.cli;

import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.FreePort;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.net.ConnectException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * Does what the commands do, for the cache from which later starts take their classes ({@code
 * -XX:AOTCacheOutput}): runs commands that need no server, or fail for want of one; attaches a
 * PostgreSQL of its own to a {@link TrainingTarget} and starts a second time, as most starts do;
 * and loads the other classes of walshadow and of what it speaks to PostgreSQL with. Nobody else
 * calls it.
 */
final class StartTraining {
    private static final String SUFFIX = ".class";

    /** Of what is needed later, or where no PostgreSQL could be started here. */
    private static final List<String> PACKAGES = List.of("dev/walshadow/", "org/postgresql/");

    /** Its libraries come in signed jars, which every start would verify. */
    private static final String OBJECT_STORES = "dev/walshadow/source/store/";

    private static final String TABLE =
            "CREATE TABLE training (id bigint PRIMARY KEY, quantity int, customer text,"
                    + " price numeric(12, 2), placed timestamptz, days date, tags text[],"
                    + " key uuid, value jsonb, good boolean, ratio float8)";

    private static final String IDENTIFIER = "SELECT system_identifier FROM pg_control_system()";
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final Duration POLL = Duration.ofMillis(5);

    private StartTraining() {}

    /**
     * @param arguments an empty directory to work in
     */
    public static void main(String[] arguments) throws IOException, InterruptedException {
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
        try {
            replicate(Path.of(arguments[0]));
        } catch (IOException | SQLException | RuntimeException e) {
            // the cache has less, and starts take longer
            System.err.println("not trained with servers: " + e);
        }
        loadAll();
        System.exit(ExitCodes.OK);
    }

    private static void execute(String... words) {
        PrintWriter nowhere = new PrintWriter(Writer.nullWriter());
        Main.commandLine().setOut(nowhere).setErr(nowhere).execute(words);
    }

    /** What it says is in the log of the training. */
    private static void runUntilStopped(Path file) {
        PrintWriter log = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
        Main.commandLine().setOut(log).setErr(log).execute("run", "--config", file.toString());
    }

    /** A first start and another one, with a PostgreSQL of our own. */
    private static void replicate(Path directory)
            throws IOException, SQLException, InterruptedException {
        int port = FreePort.next();
        Path file = directory.resolve("replicate.toml");
        EmbeddedPostgres source = EmbeddedPostgres.at(directory.resolve("source")).build();
        try (TrainingTarget target = TrainingTarget.start()) {
            source.start();
            String identifier;
            try (Connection session = DriverManager.getConnection(source.jdbcUrl("postgres"));
                    Statement statement = session.createStatement()) {
                statement.execute(TABLE);
                try (ResultSet row = statement.executeQuery(IDENTIFIER)) {
                    row.next();
                    identifier = row.getString(1);
                }
            }
            Files.writeString(
                    file,
                    """
                    [source]
                    url = "postgres://postgres@127.0.0.1:%d/postgres"
                    [clickhouse]
                    url = "%s"
                    [state]
                    dir = "%s"
                    [http]
                    listen = "127.0.0.1:%d"
                    """
                            .formatted(
                                    source.port(), target.url(), directory.resolve("kept"), port));
            untilReady(file, port);
            target.attached(identifier);
            untilReady(file, port);
        } finally {
            source.stopImmediate();
        }
    }

    private static void untilReady(Path file, int port) throws IOException, InterruptedException {
        Thread running = Thread.ofPlatform().name("main").start(() -> runUntilStopped(file));
        try {
            long deadline = System.nanoTime() + PATIENCE.toNanos();
            while (running.isAlive() && !isReady(port)) {
                if (System.nanoTime() - deadline >= 0) {
                    throw new IOException("not ready within " + PATIENCE);
                }
                Thread.sleep(POLL);
            }
        } finally {
            running.interrupt();
            running.join();
        }
    }

    private static boolean isReady(int port) throws IOException {
        URI page = URI.create("http://127.0.0.1:" + port + "/readyz");
        try {
            HttpURLConnection asked = (HttpURLConnection) page.toURL().openConnection();
            return asked.getResponseCode() == HttpURLConnection.HTTP_OK;
        } catch (ConnectException e) {
            return false; // it does not listen yet
        }
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
                    .filter(name -> !name.startsWith(OBJECT_STORES))
                    .map(name -> name.substring(0, name.length() - SUFFIX.length()))
                    .map(name -> name.replace('/', '.'))
                    .toList();
        }
    }
}
