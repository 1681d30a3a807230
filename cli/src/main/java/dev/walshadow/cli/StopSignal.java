package dev.walshadow.cli;

/** What a foreground server does on SIGTERM and Ctrl-C: stop cleanly, exit code 0. */
final class StopSignal {
    private StopSignal() {}

    static void before(AutoCloseable server) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server), "stop"));
    }

    /** Halts: the exit code would otherwise tell the signal, as if the stop had not been clean. */
    private static void stop(AutoCloseable server) {
        int exitCode = ExitCodes.OK;
        try {
            server.close();
        } catch (Exception e) {
            System.err.println(e.getMessage());
            exitCode = ExitCodes.HALTED;
        }
        Runtime.getRuntime().halt(exitCode);
    }
}
