package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.state.PauseFile;
import dev.walshadow.pipeline.TargetGate;
import java.io.IOException;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Whether an operator wants ClickHouse left alone. Durable before it is answered, and until the
 * opposite is asked for. The slot and the stream go on, as far as memory, spool and the source's
 * disk hold what ClickHouse does not get. Thread safe.
 */
final class Pause {
    private static final Logger LOG = LoggerFactory.getLogger(Pause.class);

    /** What is under way is waited for so long. */
    private static final long SETTLING_NANOS = TimeUnit.SECONDS.toNanos(60);

    private final Path file;
    private final long systemIdentifier;
    private final InstantSource clock;
    private final TargetGate gate = new TargetGate();
    private volatile @Nullable PauseFile now;

    private Pause(Path file, long systemIdentifier, InstantSource clock, @Nullable PauseFile now) {
        this.file = file;
        this.systemIdentifier = systemIdentifier;
        this.clock = clock;
        this.now = now;
        if (now != null) {
            gate.shut();
        }
    }

    /**
     * As it was left.
     *
     * @throws ConfigurationException if the file is damaged or another source's
     */
    static Pause read(Path file, long systemIdentifier) {
        return read(file, systemIdentifier, InstantSource.system());
    }

    static Pause read(Path file, long systemIdentifier, InstantSource clock) {
        PauseFile found = PauseFile.read(file, systemIdentifier).orElse(null);
        return new Pause(file, systemIdentifier, clock, found);
    }

    TargetGate gate() {
        return gate;
    }

    /** One line for the log and for whoever waits; empty while it is not paused. */
    String describe() {
        PauseFile current = now;
        if (current == null) {
            return "";
        }
        return "paused since "
                + current.since()
                + (current.reason().isEmpty() ? "" : " (" + current.reason() + ")")
                + "; walshadow ctl resume goes on";
    }

    /** Adds {@code paused}, and since when and why. */
    void write(ObjectNode into) {
        PauseFile current = now;
        into.put("paused", current != null);
        if (current != null) {
            into.put("paused_since", current.since().toString());
            if (!current.reason().isEmpty()) {
                into.put("paused_reason", current.reason());
            }
        }
    }

    /**
     * Nothing more is asked of ClickHouse after the return, except {@code in_flight} statements
     * that it has not answered within a minute.
     */
    void pause(String reason, ObjectNode answer) throws InterruptedException {
        change(reason);
        answer.put("in_flight", gate.awaitEmpty(SETTLING_NANOS));
        write(answer);
    }

    /** The same without waiting. */
    void pause(String reason) {
        change(reason);
    }

    private synchronized void change(String reason) {
        if (now != null) {
            return;
        }
        PauseFile wanted = new PauseFile(clock.instant(), reason);
        try {
            wanted.write(file, systemIdentifier);
        } catch (IOException e) {
            throw unwritable(e);
        }
        now = wanted;
        gate.shut();
        LOG.info("{}", describe());
    }

    /** Goes on; it is not paused after a restart either. */
    synchronized void resume(ObjectNode answer) {
        PauseFile before = now;
        if (before != null) {
            try {
                PauseFile.delete(file);
            } catch (IOException e) {
                throw unwritable(e);
            }
            now = null;
            gate.open();
            LOG.info("resumed; it was paused since {}", before.since());
        }
        write(answer);
    }

    /**
     * @throws IllegalArgumentException while it is paused
     */
    void requireRunning() {
        if (now != null) {
            throw new IllegalArgumentException("the replication is " + describe());
        }
    }

    private ConfigurationException unwritable(IOException cause) {
        return new ConfigurationException(
                DaemonCodes.STATE_UNUSABLE,
                file
                        + " cannot be written ("
                        + cause
                        + "), so nothing was changed; make room or mend its rights",
                cause);
    }
}
