package dev.walshadow.embedded.engine;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a test can make the front do: ask for a login (516), deny statements (497), fail statements,
 * refuse inserts, drop the connection before or after the commit of an insert, delay commits. Set
 * over HTTP by lines {@code name=value}; the answer is the same form, with counters. Thread safe.
 */
final class Switches {
    private volatile @Nullable String login;
    private volatile @Nullable Pattern denied;
    private volatile @Nullable Pattern failing;
    private volatile int failingCode;
    private final AtomicInteger refuse = new AtomicInteger();
    private final AtomicInteger refuseCode = new AtomicInteger(252);
    private final AtomicInteger dropBefore = new AtomicInteger();
    private final AtomicInteger dropAfter = new AtomicInteger();
    private final AtomicLong delayMillis = new AtomicLong();
    final AtomicLong insertsStarted = new AtomicLong();
    final AtomicLong insertsCommitted = new AtomicLong();
    final AtomicLong insertsAnswered = new AtomicLong();

    /** {@code user:password}; null lets everybody in. */
    void requireLogin(@Nullable String userAndPassword) {
        login = userAndPassword;
    }

    void apply(String lines) {
        for (String line : lines.split("\n", -1)) {
            int equals = line.indexOf('=');
            if (equals > 0) {
                apply(line.substring(0, equals).strip(), line.substring(equals + 1).strip());
            }
        }
    }

    private void apply(String name, String value) {
        switch (name) {
            case "login" -> login = value.isEmpty() ? null : value;
            case "deny" ->
                    denied =
                            value.isEmpty()
                                    ? null
                                    : Pattern.compile(value, Pattern.CASE_INSENSITIVE);
            case "fail" -> failing = value.isEmpty() ? null : Pattern.compile(value);
            case "fail-code" -> failingCode = Integer.parseInt(value);
            case "refuse" -> refuse.set(Integer.parseInt(value));
            case "refuse-code" -> refuseCode.set(Integer.parseInt(value));
            case "drop-before" -> dropBefore.set(Integer.parseInt(value));
            case "drop-after" -> dropAfter.set(Integer.parseInt(value));
            case "delay-millis" -> delayMillis.set(Long.parseLong(value));
            default -> throw new IllegalArgumentException("no such switch: " + name);
        }
    }

    String describe() {
        return "inserts-started="
                + insertsStarted
                + "\ninserts-committed="
                + insertsCommitted
                + "\ninserts-answered="
                + insertsAnswered
                + "\nrefuse="
                + refuse
                + "\ndrop-before="
                + dropBefore
                + "\ndrop-after="
                + dropAfter
                + "\ndelay-millis="
                + delayMillis
                + "\n";
    }

    void checkLogin(String user, String password) {
        String expected = login;
        if (expected != null && !expected.equals(user + ":" + password)) {
            throw new EngineException(
                    EngineException.AUTHENTICATION_FAILED,
                    user
                            + ": Authentication failed: password is incorrect, or there is no user"
                            + " with such name.",
                    "AUTHENTICATION_FAILED");
        }
    }

    void checkAllowed(String user, byte[] statement) {
        Pattern pattern = denied;
        if (pattern == null) {
            return;
        }
        String text = new String(statement, StandardCharsets.UTF_8);
        if (pattern.matcher(text).find()) {
            throw new EngineException(
                    EngineException.ACCESS_DENIED,
                    user
                            + ": Not enough privileges. To execute this query, it's necessary to"
                            + " have the grant for it.",
                    "ACCESS_DENIED");
        }
    }

    /** Statements that are made to fail, as of a table whose disk is full. */
    void checkNotFailing(byte[] statement) {
        Pattern pattern = failing;
        if (pattern != null
                && pattern.matcher(new String(statement, StandardCharsets.UTF_8)).find()) {
            throw new EngineException(
                    failingCode, "The statement was made to fail by a test switch.", "FAILED");
        }
    }

    void checkNotRefused() {
        if (take(refuse)) {
            throw new EngineException(
                    refuseCode.get(), "The insert was refused by a test switch.", "REFUSED");
        }
    }

    boolean takeDropBefore() {
        return take(dropBefore);
    }

    boolean takeDropAfter() {
        return take(dropAfter);
    }

    void delay() {
        long millis = delayMillis.get();
        if (millis > 0) {
            try {
                Thread.sleep(millis);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static boolean take(AtomicInteger counter) {
        return counter.getAndUpdate(n -> Math.max(0, n - 1)) > 0;
    }

    /** User and password of a Basic header; null if it is none. */
    static String @Nullable [] basic(@Nullable String header) {
        if (header == null || !header.regionMatches(true, 0, "Basic ", 0, 6)) {
            return null;
        }
        String decoded =
                new String(
                        Base64.getDecoder().decode(header.substring(6).strip()),
                        StandardCharsets.UTF_8);
        int colon = decoded.indexOf(':');
        return colon < 0
                ? new String[] {decoded, ""}
                : new String[] {decoded.substring(0, colon), decoded.substring(colon + 1)};
    }
}
