package dev.walshadow.daemon.control;

import dev.walshadow.daemon.config.Configuration;

/** What a daemon asks of the process that it runs in. */
public interface ProcessControl {
    /** For a daemon inside of another program: nothing can be changed. */
    ProcessControl NONE =
            new ProcessControl() {
                @Override
                public void logAt(String level) {
                    throw new IllegalArgumentException("this process has a log of its own");
                }

                @Override
                public Configuration reload() {
                    throw new IllegalArgumentException("this process has no configuration file");
                }
            };

    /**
     * From now on messages of this level and more severe ones are logged.
     *
     * @param level one of {@code error, warn, info, debug, trace}
     */
    void logAt(String level);

    /**
     * The configuration as its layers are now.
     *
     * @throws dev.walshadow.base.ConfigurationException with every fault
     */
    Configuration reload();
}
