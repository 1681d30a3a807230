package dev.walshadow.cli;

import java.io.Console;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Whether somebody looks at the output. */
final class Terminal {
    private Terminal() {}

    @SuppressWarnings("SystemConsoleNull") // null without a terminal again since JDK 25
    static boolean isInteractive() {
        Console console = System.console();
        return console != null && console.isTerminal();
    }

    /** What somebody answers; null at the end of the input. There is a terminal. */
    static @Nullable String ask(String question) {
        return Objects.requireNonNull(System.console(), "a terminal").readLine("%s", question);
    }
}
