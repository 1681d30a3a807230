package dev.walshadow.cli;

import java.io.Console;

/** Whether somebody looks at the output. */
final class Terminal {
    private Terminal() {}

    @SuppressWarnings("SystemConsoleNull") // null without a terminal again since JDK 25
    static boolean isInteractive() {
        Console console = System.console();
        return console != null && console.isTerminal();
    }
}
