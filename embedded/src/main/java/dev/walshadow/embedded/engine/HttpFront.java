package dev.walshadow.embedded.engine;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import java.io.ByteArrayInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * ClickHouse's HTTP interface before the embedded engine. Every request gets a connection of its
 * own, so requests share nothing but the data; there are no sessions.
 */
final class HttpFront implements HttpHandler {
    private static final Pattern SETTING = Pattern.compile("[A-Za-z_][A-Za-z0-9_.]*");
    private static final Pattern SETTINGS_CLAUSE =
            Pattern.compile("\\bSETTINGS\\b", Pattern.CASE_INSENSITIVE);

    /** The one that a new connection is in. */
    private static final String FIRST_DATABASE = "default";

    /** ClickHouse's {@code max_query_size}: a statement, without its data, is not longer. */
    private static final int STATEMENT_BYTES = 1 << 18;

    private static final int LONGEST_QUERY_BYTES = 1 << 26;

    private final Engine engine;
    private final Switches switches;
    private final boolean switchable;

    /** {@code switchable} opens {@code /walshadow/switches}, for tests. */
    HttpFront(Engine engine, Switches switches, boolean switchable) {
        this.engine = engine;
        this.switches = switches;
        this.switchable = switchable;
    }

    @Override
    public void handle(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        if (path.equals("/ping") || path.equals("/replicas_status")) {
            HttpAnswer.plain(exchange, 200, "Ok.\n");
        } else if (switchable && path.equals("/walshadow/switches")) {
            byte[] lines = exchange.getRequestBody().readAllBytes();
            switches.apply(new String(lines, StandardCharsets.UTF_8));
            HttpAnswer.plain(exchange, 200, switches.describe());
        } else if (!path.equals("/")) {
            HttpAnswer.plain(exchange, 404, "There is no handle " + path + "\n");
        } else if (exchange.getRequestMethod().equals("GET")
                && exchange.getRequestURI().getRawQuery() == null) {
            HttpAnswer.plain(exchange, 200, "Ok.\n");
        } else {
            query(exchange);
        }
    }

    private void query(HttpExchange exchange) throws IOException {
        HttpQuery query = HttpQuery.of(exchange);
        HttpAnswer answer = new HttpAnswer(exchange, query);
        try {
            String[] login = query.login();
            switches.checkLogin(login[0], login[1]);
            if (query.asksForSession()) {
                throw new EngineException(
                        EngineException.NOT_IMPLEMENTED,
                        "The embedded engine keeps no sessions",
                        "NOT_IMPLEMENTED");
            }
            try (EngineConnection connection = engine.open()) {
                run(connection, query, login[0], answer, exchange.getRequestBody());
            }
            answer.finish();
        } catch (EngineException e) {
            answer.fail(e);
        } catch (RuntimeException e) {
            e.printStackTrace();
            answer.fail(EngineException.ofFault(e));
        }
    }

    private void run(
            EngineConnection connection,
            HttpQuery query,
            String user,
            HttpAnswer answer,
            InputStream rawBody)
            throws IOException {
        byte[] text = query.urlStatement();
        InputStream body = query.body(rawBody);
        if (text.length == 0) {
            text = body.readNBytes(STATEMENT_BYTES);
        }
        StatementText statement = StatementText.of(text, text.length);
        byte[] head = statement.headLength() == text.length ? text : head(text, statement);
        switches.checkAllowed(user, head);
        switches.checkNotFailing(head);
        use(connection, query);
        if (statement.kind() == StatementText.Kind.INSERT_DATA) {
            String format = statement.format() == null ? "Values" : statement.format();
            insert(
                    connection,
                    new LibChdb.Statement(
                            withSettings(connection, query, head), format, query.parameters()),
                    rows(text, statement, body),
                    answer);
            return;
        }
        set(connection, query);
        byte[] rest = body.readNBytes(LONGEST_QUERY_BYTES);
        if (rest.length > 0) {
            text = joined(text, rest, query.urlStatement().length > 0);
            statement = StatementText.of(text, text.length);
        }
        select(connection, query, text, statement, answer);
    }

    private static void use(EngineConnection connection, HttpQuery query) {
        String database = query.database();
        if (database != null && !database.equals(FIRST_DATABASE)) {
            connection.execute("USE `" + escape(database).replace("`", "\\`") + "`");
        }
    }

    private static void set(EngineConnection connection, HttpQuery query) {
        if (!query.settings().isEmpty()) {
            connection.execute("SET " + settings(query));
        }
    }

    /**
     * A statement less than by SET. What the statement sets by itself goes before the request; what
     * forbids the statement comes before it.
     */
    private static byte[] withSettings(
            EngineConnection connection, HttpQuery query, byte[] insert) {
        String text = new String(insert, StandardCharsets.ISO_8859_1);
        if (query.settings().isEmpty()) {
            return insert;
        }
        if (SETTINGS_CLAUSE.matcher(text).find() || query.settings().containsKey("readonly")) {
            set(connection, query);
            return insert;
        }
        byte[] clause = ("\nSETTINGS " + settings(query)).getBytes(StandardCharsets.UTF_8);
        return joined(insert, clause, false);
    }

    private static String settings(HttpQuery query) {
        StringBuilder settings = new StringBuilder();
        for (Map.Entry<String, String> setting : query.settings().entrySet()) {
            if (!SETTING.matcher(setting.getKey()).matches()) {
                throw new EngineException(
                        EngineException.UNKNOWN_SETTING,
                        "Unknown setting '" + setting.getKey() + "'.",
                        "UNKNOWN_SETTING");
            }
            settings.append(settings.isEmpty() ? "" : ", ")
                    .append(setting.getKey())
                    .append(" = '")
                    .append(escape(setting.getValue()).replace("'", "\\'"))
                    .append('\'');
        }
        return settings.toString();
    }

    /** What of them is in the text, and what follows it. */
    private static InputStream rows(byte[] text, StatementText parts, InputStream body) {
        return new SequenceInputStream(
                new ByteArrayInputStream(
                        text, parts.dataOffset(), text.length - parts.dataOffset()),
                unclosed(body));
    }

    private void insert(
            EngineConnection connection,
            LibChdb.Statement statement,
            InputStream rows,
            HttpAnswer answer)
            throws IOException {
        switches.insertsStarted.incrementAndGet();
        switches.checkNotRefused();
        EngineConnection.Summary summary =
                connection.insert(
                        statement,
                        rows,
                        () -> {
                            switches.delay();
                            if (switches.takeDropBefore()) {
                                throw new DroppedException();
                            }
                        });
        switches.insertsCommitted.incrementAndGet();
        if (switches.takeDropAfter()) {
            throw new DroppedException();
        }
        answer.empty(summary);
        switches.insertsAnswered.incrementAndGet();
    }

    private static void select(
            EngineConnection connection,
            HttpQuery query,
            byte[] text,
            StatementText parts,
            HttpAnswer answer)
            throws IOException {
        if (connection.statementCount(text) > 1) {
            throw new EngineException(
                    EngineException.SYNTAX_ERROR,
                    "Syntax error (Multi-statements are not allowed)",
                    "SYNTAX_ERROR");
        }
        String format = parts.format() == null ? query.defaultFormat() : parts.format();
        answer.format(format);
        LibChdb.Statement statement = new LibChdb.Statement(text, format, query.parameters());
        EngineConnection.PieceHeader header = PieceHeaders.of(format);
        if (header == null || parts.kind() != StatementText.Kind.SELECT || query.waitForEnd()) {
            connection.query(statement, answer::begin);
            return;
        }
        try {
            connection.stream(statement, header, answer::begin);
        } catch (EngineException e) {
            if (e.code() != EngineException.STREAMING_NOT_SUPPORTED || answer.begun()) {
                throw e;
            }
            connection.query(statement, answer::begin);
        }
    }

    /** A sequence closes each part at its end; but the answer still drains the request's body. */
    private static InputStream unclosed(InputStream body) {
        return new FilterInputStream(body) {
            @Override
            public void close() {}
        };
    }

    private static byte[] head(byte[] text, StatementText parts) {
        return Arrays.copyOf(text, parts.headLength());
    }

    private static byte[] joined(byte[] first, byte[] second, boolean separated) {
        int gap = separated ? 1 : 0;
        byte[] joined = Arrays.copyOf(first, first.length + gap + second.length);
        if (separated) {
            joined[first.length] = '\n';
        }
        System.arraycopy(second, 0, joined, first.length + gap, second.length);
        return joined;
    }

    private static String escape(String text) {
        return text.replace("\\", "\\\\");
    }

    /** A test switch drops the connection: no answer. */
    static final class DroppedException extends IOException {
        private static final long serialVersionUID = 1L;

        DroppedException() {
            super("dropped by a test switch");
        }
    }
}
