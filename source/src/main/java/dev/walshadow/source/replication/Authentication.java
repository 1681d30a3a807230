package dev.walshadow.source.replication;

import com.ongres.scram.client.ScramClient;
import com.ongres.scram.common.exception.ScramException;
import dev.walshadow.base.ConfigurationException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Answers the server's AuthenticationXxx messages until it is content. One login each. */
final class Authentication {
    private static final String SCRAM_SHA_256 = "SCRAM-SHA-256";

    private final String user;
    private final @Nullable String password;
    private final String peer;
    private final @Nullable String passwordProblem;
    private @Nullable ScramClient scram;

    /**
     * @param passwordProblem why a password file was not used, for the message
     */
    Authentication(
            String user, @Nullable String password, String peer, @Nullable String passwordProblem) {
        this.user = user;
        this.password = password;
        this.peer = peer;
        this.passwordProblem = passwordProblem;
    }

    /** Handles one Authentication message; true when the server has accepted the login. */
    boolean answer(MessageReader reader, MessageWriter writer) {
        int method = reader.int32();
        try {
            switch (method) {
                case Protocol.AUTH_OK -> {
                    return true;
                }
                case Protocol.AUTH_CLEARTEXT -> writer.password(requirePassword());
                case Protocol.AUTH_MD5 -> writer.password(md5(reader.bytes(4)));
                case Protocol.AUTH_SASL -> saslStart(reader, writer);
                case Protocol.AUTH_SASL_CONTINUE -> {
                    ScramClient client = requireScram(reader);
                    client.serverFirstMessage(reader.string(reader.remaining()));
                    writer.saslResponse(client.clientFinalMessage().toString());
                }
                case Protocol.AUTH_SASL_FINAL ->
                        requireScram(reader).serverFinalMessage(reader.string(reader.remaining()));
                default -> throw unsupported("authentication method " + method);
            }
        } catch (ScramException | IllegalArgumentException | IllegalStateException e) {
            throw new ConfigurationException(
                    ReplicationCodes.WRONG_PASSWORD,
                    "the SCRAM login at "
                            + peer
                            + " failed: "
                            + e.getMessage()
                            + ". Check the password, and that this is the intended server",
                    e);
        }
        return false;
    }

    private void saslStart(MessageReader reader, MessageWriter writer) {
        List<String> mechanisms = new ArrayList<>();
        while (reader.remaining() > 0) {
            String name = reader.cString();
            if (name.isEmpty()) {
                break;
            }
            mechanisms.add(name);
        }
        if (!mechanisms.contains(SCRAM_SHA_256)) {
            throw unsupported("SASL mechanisms " + mechanisms);
        }
        // The server takes the user from the startup message; -PLUS needs channel binding data.
        ScramClient client =
                ScramClient.builder()
                        .advertisedMechanisms(List.of(SCRAM_SHA_256))
                        .username("*")
                        .password(requirePassword().toCharArray())
                        .build();
        scram = client;
        writer.saslInitial(
                client.getScramMechanism().getName(), client.clientFirstMessage().toString());
    }

    private ScramClient requireScram(MessageReader reader) {
        if (scram == null) {
            throw reader.notProtocol("a SASL message before the SASL exchange");
        }
        return scram;
    }

    private String requirePassword() {
        if (password == null) {
            throw new ConfigurationException(
                    ReplicationCodes.WRONG_PASSWORD,
                    "the server "
                            + peer
                            + " asks for a password of user \""
                            + user
                            + "\" and none is set: put it into the connection setting, PGPASSWORD"
                            + " or a password file"
                            + (passwordProblem == null ? "" : " (" + passwordProblem + ")"));
        }
        return password;
    }

    /** "md5" + md5(md5(password + user) + salt), all in hex. */
    private String md5(byte[] salt) {
        try {
            MessageDigest digest = MessageDigest.getInstance("MD5");
            digest.update(requirePassword().getBytes(StandardCharsets.UTF_8));
            byte[] inner = digest.digest(user.getBytes(StandardCharsets.UTF_8));
            digest.update(HexFormat.of().formatHex(inner).getBytes(StandardCharsets.US_ASCII));
            return "md5" + HexFormat.of().formatHex(digest.digest(salt)).toLowerCase(Locale.ROOT);
        } catch (NoSuchAlgorithmException e) {
            throw unsupported("md5 passwords, which this Java does not offer");
        }
    }

    private ConfigurationException unsupported(String what) {
        return new ConfigurationException(
                ReplicationCodes.AUTHENTICATION_METHOD,
                "the server "
                        + peer
                        + " asks for "
                        + what
                        + "; walshadow speaks trust, password, md5, scram-sha-256 and client"
                        + " certificates. Add such a line to pg_hba.conf");
    }
}
