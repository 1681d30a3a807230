package dev.walshadow.cli;

import dev.walshadow.daemon.preflight.Advice;
import dev.walshadow.daemon.preflight.SourceCheck;
import java.util.Locale;
import picocli.CommandLine.IVersionProvider;

/** Which walshadow this is, and what it works with. */
final class Version implements IVersionProvider {
    /** Also in the root pom.xml. */
    static final String NUMBER = "0.1.0-SNAPSHOT";

    Version() {}

    @Override
    public String[] getVersion() {
        String commit = System.getProperty("walshadow.commit", "");
        return new String[] {
            "walshadow " + NUMBER + (commit.isEmpty() ? "" : " (" + commit + ")"),
            line("Java", Runtime.version() + ", " + System.getProperty("java.vendor", "")),
            line("PostgreSQL", SourceCheck.OLDEST_MAJOR + " to " + SourceCheck.NEWEST_MAJOR),
            line("ClickHouse", Advice.targetLeast() + " or newer")
        };
    }

    private static String line(String name, String text) {
        return String.format(Locale.ROOT, "%-11s %s", name, text);
    }
}
