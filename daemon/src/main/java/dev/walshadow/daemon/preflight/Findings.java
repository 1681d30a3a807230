package dev.walshadow.daemon.preflight;

import dev.walshadow.base.Code;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.daemon.DaemonCodes;
import java.util.ArrayList;
import java.util.List;

/** Collects what is wrong, so that an operator sees all of it at the first try. */
public final class Findings {
    private final List<String> lines = new ArrayList<>();
    private final List<String> advice = new ArrayList<>();

    public void add(Code code, String message) {
        lines.add(code + " " + message);
    }

    /** Something that does not keep walshadow from starting. */
    public void advise(Code code, String message) {
        advice.add(code + " " + message);
    }

    public List<String> advice() {
        return List.copyOf(advice);
    }

    /** A message that begins with its code. */
    public void addLine(String line) {
        lines.add(line);
    }

    public void add(WalshadowException failure) {
        lines.add(String.valueOf(failure.getMessage()));
    }

    public boolean isEmpty() {
        return lines.isEmpty();
    }

    public List<String> lines() {
        return List.copyOf(lines);
    }

    /** Throws one failure with every finding, a line each, if there is any. */
    public void throwIfAny() {
        if (lines.size() == 1) {
            String only = lines.getFirst();
            throw new ConfigurationException(
                    DaemonCodes.PREFLIGHT,
                    "preflight found a fault; nothing was changed:\n  - " + only);
        }
        if (!lines.isEmpty()) {
            throw new ConfigurationException(
                    DaemonCodes.PREFLIGHT,
                    "preflight found "
                            + lines.size()
                            + " faults; nothing was changed:\n  - "
                            + String.join("\n  - ", lines));
        }
    }
}
