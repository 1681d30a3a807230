package dev.walshadow.cli;

/** What a foreground server does on SIGTERM and Ctrl-C: stop cleanly, exit code 0. */
final class StopSignal {
    private final AutoCloseable server;
    private volatile boolean over;

    private StopSignal(AutoCloseable server) {
        this.server = server;
    }

    static StopSignal before(AutoCloseable server) {
        StopSignal signal = new StopSignal(server);
        Runtime.getRuntime().addShutdownHook(new Thread(signal::stop, "stop"));
        return signal;
    }

    /** The command ends of its own: its exit code is that end's. */
    void over() {
        over = true;
    }

    /** Halts: the exit code would otherwise tell the signal, as if the stop had not been clean. */
    private void stop() {
        int exitCode = ExitCodes.OK;
        try {
            server.close();
        } catch (Exception e) {
            System.err.println(e.getMessage());
            exitCode = ExitCodes.HALTED;
        }
        if (!over) {
            Runtime.getRuntime().halt(exitCode);
        }
    }
}
