package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.preflight.Findings;
import dev.walshadow.daemon.state.SourceFacts;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.postgres.RelationLocator;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A source of which there is the archive alone. Until the first load is done a server with the
 * backup's catalogs answers for it, afterwards nobody does: then what was found out is in a file.
 * Thread safe.
 */
final class ArchivedSource implements FirstAttach.StandIn, AutoCloseable {
    private final Configuration configuration;
    private final StateDirectory state;
    private final SourceDatabase source;
    private final SourceFacts facts;
    private @Nullable ArchiveSeed seed;
    private final @Nullable String backup;
    private Set<RelationLocator> readable = Set.of();

    private ArchivedSource(
            Configuration configuration,
            StateDirectory state,
            SourceDatabase source,
            SourceFacts facts,
            @Nullable ArchiveSeed seed) {
        this.configuration = configuration;
        this.state = state;
        this.source = source;
        this.facts = facts;
        this.seed = seed;
        this.backup = seed == null ? null : seed.backup();
    }

    /**
     * @throws ConfigurationException if there is no backup to attach to, or what was found out is
     *     lost
     */
    static ArchivedSource find(Configuration configuration, StateDirectory state) {
        check(configuration);
        try {
            ArchiveSeed.remove(state);
            return Files.exists(state.manifest())
                    ? ofEarlier(configuration, state)
                    : ofBackup(configuration, state);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ConfigurationException(
                    DaemonCodes.STATE_UNUSABLE, "interrupted while the backup was read", e);
        }
    }

    private static ArchivedSource ofEarlier(Configuration configuration, StateDirectory state) {
        SourceFacts facts =
                SourceFacts.read(state.sourceFacts())
                        .orElseThrow(() ->
                                new ConfigurationException(
                                        DaemonCodes.STATE_TORN,
                                        "the state directory is of an attach to the source"
                                                + " itself, or lacks "
                                                + state.sourceFacts()
                                                + ": set [source] mode to stream, or attach"
                                                + " anew with an empty [state] dir"));
        return new ArchivedSource(
                configuration, state, SourceDatabase.orNobody(configuration), facts, null);
    }

    private static ArchivedSource ofBackup(Configuration configuration, StateDirectory state)
            throws InterruptedException {
        ArchiveSeed seed = ArchiveSeed.lay(configuration, state);
        try {
            seed.facts().write(state.sourceFacts());
            return new ArchivedSource(configuration, state, seed.source(), seed.facts(), seed);
        } catch (IOException e) {
            seed.close();
            throw new ConfigurationException(
                    DaemonCodes.STATE_UNUSABLE,
                    state.sourceFacts() + " cannot be written: " + e,
                    e);
        }
    }

    /** Whether there is an archive with a backup, without laying it. */
    static Findings look(Configuration configuration) {
        Findings findings = new Findings();
        note(findings, () -> check(configuration));
        note(findings, () -> StoredBackup.look(configuration));
        note(findings, () -> Targets.ping(configuration));
        return findings;
    }

    /**
     * @throws ConfigurationException if something is wanted that only a source can give
     */
    static void check(Configuration configuration) {
        String needing =
                !configuration.find(Settings.SOURCE_CONFIG_SCHEMA).orElse("").isEmpty()
                        ? "[source] config_schema"
                        : configuration.get(Settings.VERIFY_INTERVAL).isPositive()
                                ? "[verify] interval"
                                : "";
        if (!needing.isEmpty()) {
            throw new ConfigurationException(
                    DaemonCodes.BAD_CONFIGURATION,
                    needing
                            + " needs a source that can be asked, but [source] mode is archive;"
                            + " leave it out");
        }
    }

    private static void note(Findings findings, Runnable check) {
        try {
            check.run();
        } catch (WalshadowException e) {
            findings.add(e);
        }
    }

    SourceDatabase source() {
        return source;
    }

    SourceFacts facts() {
        return facts;
    }

    @Override
    public @Nullable String backup() {
        return backup;
    }

    /** The server is laid once more. */
    @Override
    public synchronized void read(Set<RelationLocator> files) throws InterruptedException {
        ArchiveSeed before = seed;
        if (before == null || readable.containsAll(files)) {
            return;
        }
        seed = null;
        before.close();
        seed = before.again(configuration, state, files);
        readable = Set.copyOf(files);
    }

    @Override
    public void leave() {
        Thread.ofVirtual().name("archive-seed").start(this::close);
    }

    @Override
    public synchronized void close() {
        ArchiveSeed open = seed;
        seed = null;
        if (open != null) {
            open.close();
        }
    }
}
