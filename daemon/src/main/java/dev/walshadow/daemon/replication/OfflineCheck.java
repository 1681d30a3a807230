package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.monitor.ApiToken;
import dev.walshadow.daemon.preflight.Findings;
import dev.walshadow.shadow.ServerUser;
import dev.walshadow.source.replication.ReplicationConnection;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What is wrong about the source's settings without asking the source. With such faults it is not
 * asked at all; the target is, so that both are told at once.
 */
final class OfflineCheck {
    private final Configuration configuration;
    private final Findings findings = new Findings();
    private @Nullable SourceDatabase source;

    private OfflineCheck(Configuration configuration) {
        this.configuration = configuration;
    }

    /**
     * How to reach the source.
     *
     * @throws ConfigurationException with every finding
     */
    static SourceDatabase source(Configuration configuration) {
        return new OfflineCheck(configuration).check();
    }

    private SourceDatabase check() {
        note(() -> source = SourceDatabase.of(configuration));
        note(() -> ReplicationConnection.checkSlotName(configuration.get(Settings.SOURCE_SLOT)));
        note(() -> ServerUser.of(configuration.find(Settings.SHADOW_USER).orElse(null)));
        note(() -> configuration.find(Settings.HTTP_TOKEN_FILE).ifPresent(ApiToken::read));
        note(() -> TombstoneSchedule.check(configuration));
        if (!findings.isEmpty()) {
            note(() -> Targets.ping(configuration));
        }
        findings.throwIfAny();
        return Objects.requireNonNull(source);
    }

    private void note(Runnable check) {
        try {
            check.run();
        } catch (WalshadowException e) {
            findings.add(e);
        }
    }
}
