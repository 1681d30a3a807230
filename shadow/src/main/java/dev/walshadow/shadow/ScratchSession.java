package dev.walshadow.shadow;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.postgres.value.ForeignType;
import java.nio.file.Path;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.newsclub.net.unix.AFUNIXSocketFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A session in a database of the scratch cluster that has a source database's encoding.
 *
 * <p>A type of the source gets a carrier: a type of the same length and alignment with the very
 * output function. A datum goes there as the only element of an array, whose bytes are made here
 * and which PostgreSQL takes for a bytea; {@code array_to_text} prints the element. So datums of
 * any length, by value or not, take one way.
 *
 * <pre>
 * i32 ndim = 1, i32 dataoffset = 0, u32 elemtype, i32 dim = 1, i32 lbound = 1, then the element with
 * its varlena header; with the array's own header before it, the element is aligned to 8 bytes
 * (src/include/utils/array.h, PostgreSQL 15-18)
 * </pre>
 */
final class ScratchSession implements AutoCloseable {
    static final String USER = "walshadow";

    private static final Logger LOG = LoggerFactory.getLogger(ScratchSession.class);

    private final Connection connection;
    private final PreparedStatement render;
    private final Map<ForeignType, Integer> carriers = new HashMap<>();

    private ScratchSession(Connection connection, String encoding) throws SQLException {
        this.connection = connection;
        this.render =
                connection.prepareStatement(
                        "SELECT convert_to(walshadow_text(datum || ''::bytea, ''), '"
                                + encoding
                                + "') FROM unnest(?) WITH ORDINALITY AS d(datum, n) ORDER BY n");
    }

    /** Makes the database if it is not there. */
    static ScratchSession open(Path socket, String encoding) throws SQLException {
        String database = "encoding_" + encoding.toLowerCase(Locale.ROOT);
        try (Connection first = connect(socket, "postgres");
                Statement statement = first.createStatement()) {
            if (!exists(first, database)) {
                statement.execute(
                        "CREATE DATABASE "
                                + database
                                + " ENCODING '"
                                + encoding
                                + "' LOCALE 'C' TEMPLATE template0");
            }
        }
        Connection connection = connect(socket, database);
        try (Statement statement = connection.createStatement()) {
            statement.execute(
                    "CREATE OR REPLACE FUNCTION walshadow_text(bytea, text) RETURNS text"
                            + " LANGUAGE internal STABLE STRICT AS 'array_to_text'");
        }
        return new ScratchSession(connection, encoding);
    }

    private static boolean exists(Connection connection, String database) throws SQLException {
        try (PreparedStatement statement =
                connection.prepareStatement("SELECT FROM pg_database WHERE datname = ?")) {
            statement.setString(1, database);
            try (ResultSet row = statement.executeQuery()) {
                return row.next();
            }
        }
    }

    private static Connection connect(Path socket, String database) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", USER);
        properties.setProperty("socketFactory", AFUNIXSocketFactory.FactoryArg.class.getName());
        properties.setProperty("socketFactoryArg", socket.toString());
        properties.setProperty("sslmode", "disable");
        properties.setProperty("gssEncMode", "disable");
        properties.setProperty(
                "options",
                "-c datestyle=ISO,MDY -c intervalstyle=postgres -c timezone=UTC"
                        + " -c extra_float_digits=1 -c bytea_output=hex");
        properties.setProperty("PGDBNAME", database);
        return DriverManager.getConnection("jdbc:postgresql:///", properties);
    }

    /** Whether the type's library is installed and has the function. */
    boolean knows(ForeignType type) throws SQLException {
        try {
            carrier(type);
            return true;
        } catch (SQLException e) {
            // 58P01: no such file; 42883: no such function in it; XX000: it cannot be loaded
            if (List.of("58P01", "42883", "XX000").contains(String.valueOf(e.getSQLState()))) {
                LOG.debug("{} cannot be printed: {}", type, e.getMessage());
                return false;
            }
            throw e;
        }
    }

    private int carrier(ForeignType type) throws SQLException {
        Integer known = carriers.get(type);
        if (known != null) {
            return known;
        }
        String name = "carrier_" + carriers.size();
        try (Statement statement = connection.createStatement()) {
            statement.execute("DROP TYPE IF EXISTS " + name + " CASCADE");
            statement.execute("CREATE TYPE " + name);
            // never called: values come as bytes
            statement.execute(
                    "CREATE FUNCTION "
                            + name
                            + "_in(cstring) RETURNS "
                            + name
                            + " LANGUAGE internal STABLE STRICT AS 'byteain'");
            statement.execute(
                    "CREATE FUNCTION "
                            + name
                            + "_out("
                            + name
                            + ") RETURNS cstring LANGUAGE c STABLE STRICT AS "
                            + literal(type.library())
                            + ", "
                            + literal(type.function()));
            statement.execute(
                    "CREATE TYPE "
                            + name
                            + " (INPUT = "
                            + name
                            + "_in, OUTPUT = "
                            + name
                            + "_out, INTERNALLENGTH = "
                            + (type.length() < 0 ? "VARIABLE" : "" + type.length())
                            + ", ALIGNMENT = "
                            + alignment(type.alignment())
                            + (type.byValue() ? ", PASSEDBYVALUE" : "")
                            + ")");
            try (ResultSet row =
                    statement.executeQuery("SELECT '" + name + "'::regtype::oid::int8")) {
                row.next();
                int oid = (int) row.getLong(1);
                carriers.put(type, oid);
                return oid;
            }
        }
    }

    private static String literal(String text) {
        return "E'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }

    private static String alignment(char alignment) {
        return switch (alignment) {
            case 'c' -> "char";
            case 's' -> "int2";
            case 'd' -> "double";
            default -> "int4";
        };
    }

    List<byte[]> render(ForeignType type, List<byte[]> datums) throws SQLException {
        int carrier = carrier(type);
        byte[][] elements = new byte[datums.size()][];
        for (int i = 0; i < elements.length; i++) {
            elements[i] = oneElement(carrier, type.length(), datums.get(i));
        }
        Array parameter = connection.createArrayOf("bytea", elements);
        render.setArray(1, parameter);
        List<byte[]> texts = new ArrayList<>(elements.length);
        try (ResultSet rows = render.executeQuery()) {
            while (rows.next()) {
                texts.add(rows.getBytes(1));
            }
        }
        parameter.free();
        if (texts.size() != elements.length) {
            throw new SQLException(
                    "expected " + elements.length + " texts, found " + texts.size(), "XX000");
        }
        return texts;
    }

    private static byte[] oneElement(int elementOid, int length, byte[] datum) {
        ByteBuilder out = new ByteBuilder(datum.length + 24);
        out.putInt(1);
        out.putInt(0);
        out.putInt(elementOid);
        out.putInt(1);
        out.putInt(1);
        if (length == -1) {
            out.putInt((datum.length + Integer.BYTES) << 2); // VARHDRSZ counts
        }
        out.putBytes(datum);
        return out.toByteArray();
    }

    @Override
    public void close() {
        try {
            connection.close();
        } catch (SQLException e) {
            LOG.debug("closing a session on the scratch server: {}", e.toString());
        }
    }
}
