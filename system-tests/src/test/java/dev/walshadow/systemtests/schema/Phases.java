package dev.walshadow.systemtests.schema;

/** Says how long the parts of a run took. */
final class Phases {
    private final StringBuilder text = new StringBuilder();
    private long since = System.nanoTime();

    void end(String name) {
        long now = System.nanoTime();
        text.append(text.isEmpty() ? "" : ", ").append(name);
        text.append(" in ").append((now - since) / 1_000_000).append(" ms");
        since = now;
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
