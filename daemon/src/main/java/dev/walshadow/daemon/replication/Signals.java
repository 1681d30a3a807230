package dev.walshadow.daemon.replication;

import dev.walshadow.base.WalshadowException;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.pipeline.Pipeline;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.wal.LogicalMessageRecord;
import dev.walshadow.transaction.MessageSink;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.node.JsonNodeFactory;

/**
 * Commands in the stream itself: {@code pg_logical_emit_message(true, 'walshadow', 'flush')}. One
 * that is malformed, or not enabled, is logged with its position and has no effect; none ends the
 * replication. On the pump.
 */
final class Signals implements MessageSink {
    private static final Logger LOG = LoggerFactory.getLogger(Signals.class);
    private static final String PREFIX = "walshadow";
    private static final int MAX_BYTES = 1_000;
    private static final String FORMS =
            "flush, ignore, pause [REASON], resume or watermark NAME is expected";

    private final Set<String> enabled;
    private final IntPredicate followed;
    private final Pipeline pipeline;
    private final Pause pause;

    /** What acted up to here has acted. */
    private final long doneTo;

    /**
     * @param enabled those of {@link Settings#SIGNAL_COMMANDS} that are obeyed
     * @param followed whether a database, by its OID, is
     * @param doneTo how far an earlier run was durable
     */
    Signals(
            List<String> enabled,
            IntPredicate followed,
            Pipeline pipeline,
            Pause pause,
            long doneTo) {
        this.enabled = Set.copyOf(enabled);
        this.followed = followed;
        this.pipeline = pipeline;
        this.pause = pause;
        this.doneTo = doneTo;
    }

    private static String command(Message message) {
        return word(message.text());
    }

    private static String word(String text) {
        int space = text.indexOf(' ');
        return space < 0 ? text : text.substring(0, space);
    }

    /** What stands behind the command. */
    private static String rest(String text) {
        return text.substring(word(text).length()).strip();
    }

    @Override
    public boolean isEmpty() {
        return enabled.isEmpty();
    }

    @Override
    public @Nullable String wanted(LogicalMessageRecord message, long lsn) {
        if (!message.hasPrefix(PREFIX) || !followed.test(message.databaseOid())) {
            return null;
        }
        if (message.messageLength() > MAX_BYTES) {
            return refused(lsn, "it has more than " + MAX_BYTES + " bytes");
        }
        String text;
        try {
            text =
                    StandardCharsets.UTF_8
                            .newDecoder()
                            .decode(ByteBuffer.wrap(message.message()))
                            .toString()
                            .strip();
        } catch (CharacterCodingException e) {
            return refused(lsn, "it is not UTF-8");
        }
        String fault = fault(text, message.isTransactional());
        return fault == null ? text : refused(lsn, fault);
    }

    private @Nullable String fault(String text, boolean transactional) {
        String command = word(text);
        String rest = rest(text);
        if (!Settings.SIGNAL_COMMANDS.contains(command)) {
            return "\"" + command + "\" is no command: " + FORMS;
        }
        if (!enabled.contains(command)) {
            return command + " is not enabled: add it to [source] signals and restart";
        }
        return switch (command) {
            case "pause" -> null;
            case "watermark" -> rest.isEmpty() ? "a watermark needs a name: " + FORMS : null;
            case "ignore" -> {
                if (!transactional) {
                    yield "ignore belongs to a transaction: emit it with transactional = true";
                }
                yield rest.isEmpty() ? null : "nothing follows ignore: " + FORMS;
            }
            default -> rest.isEmpty() ? null : "nothing follows " + command + ": " + FORMS;
        };
    }

    private static @Nullable String refused(long lsn, String fault) {
        LOG.warn(
                "{} the signal at {} has no effect: {}",
                DaemonCodes.SIGNAL,
                Lsn.format(lsn),
                fault);
        return null;
    }

    @Override
    public void overflow(long lsn) {
        refused(lsn, "its transaction has 100 already: emit it in another one");
    }

    @Override
    public boolean ignores(List<Message> committed) {
        return committed.stream().anyMatch(message -> command(message).equals("ignore"));
    }

    @Override
    public void counts(List<Message> messages, long position, long micros)
            throws InterruptedException {
        for (Message message : messages) {
            act(message, position, micros);
        }
    }

    private void act(Message message, long position, long micros) throws InterruptedException {
        String command = command(message);
        if (command.equals("watermark")) {
            String name = rest(message.text());
            if (!pipeline.mark(name, position, micros, message.lsn())) {
                refused(message.lsn(), "too many watermarks wait to be written: try again later");
            }
            return;
        }
        if (position <= doneTo) {
            return;
        }
        LOG.info("{} by a signal at {}", command, Lsn.format(message.lsn()));
        try {
            switch (command) {
                case "flush" -> pipeline.hasten();
                case "pause" -> pause.pause(rest(message.text()));
                case "resume" -> pause.resume(JsonNodeFactory.instance.objectNode());
                default -> {} // its transaction has been told
            }
        } catch (WalshadowException e) {
            refused(message.lsn(), String.valueOf(e.getMessage()));
        }
    }
}
