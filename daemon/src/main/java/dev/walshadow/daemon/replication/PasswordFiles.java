package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.daemon.DaemonCodes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Files whose first line is a password. */
final class PasswordFiles {
    private PasswordFiles() {}

    static String firstLine(Path file) {
        List<String> lines;
        try {
            lines = Files.readAllLines(file);
        } catch (IOException e) {
            throw new ConfigurationException(
                    DaemonCodes.BAD_CONFIGURATION,
                    "the password file "
                            + file
                            + " cannot be read ("
                            + e
                            + "); correct password_file, or make it readable for this user",
                    e);
        }
        if (lines.isEmpty() || lines.getFirst().isEmpty()) {
            throw new ConfigurationException(
                    DaemonCodes.BAD_CONFIGURATION,
                    "the password file " + file + " is empty; its first line is the password");
        }
        return lines.getFirst();
    }
}
