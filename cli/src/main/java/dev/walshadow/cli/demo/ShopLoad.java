package dev.walshadow.cli.demo;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/**
 * The demo's mixed load: orders with items, updates (also of rows with toasted values), key
 * changes, deletes, rollbacks, savepoints and bulk loads, from several sessions.
 */
final class ShopLoad {
    /** How a session is opened. */
    interface Sessions {
        Connection open() throws SQLException;
    }

    private static final int SESSIONS = 4;
    private static final long BULK_EVERY = 200;
    private static final int BULK_ROWS = 2_000;
    private static final long SESSION_IDS = 1_000_000_000_000L;
    private static final String DEADLOCK_DETECTED = "40P01";

    private final Sessions sessions;
    private final double rowsPerSecond;
    private final long seed;
    private final AtomicLong rows = new AtomicLong();
    private final AtomicLong transactions = new AtomicLong();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean stopping;
    private volatile @Nullable SQLException failure;

    ShopLoad(Sessions sessions, double rowsPerSecond, long seed) {
        this.sessions = sessions;
        this.rowsPerSecond = rowsPerSecond;
        this.seed = seed;
    }

    /** Rows written by committed transactions. */
    long rows() {
        return rows.get();
    }

    long transactions() {
        return transactions.get();
    }

    /** Why a session ended early; null if none did. */
    @Nullable SQLException failure() {
        return failure;
    }

    void start() {
        for (int i = 0; i < SESSIONS; i++) {
            int number = i;
            threads.add(Thread.ofPlatform().name("load-" + i).start(() -> run(number)));
        }
    }

    private void run(int number) {
        SplittableRandom random = new SplittableRandom(seed + number);
        double share = rowsPerSecond / SESSIONS;
        long started = System.nanoTime();
        long written = 0;
        try (Connection session = sessions.open()) {
            session.setAutoCommit(false);
            for (long round = 1; !stopping; round++) {
                long bulkId =
                        round % BULK_EVERY == 0 ? -number * SESSION_IDS - round * BULK_ROWS : 0;
                written += transaction(session, random, bulkId);
                long due = started + (long) (written / share * 1e9);
                while (!stopping && System.nanoTime() < due) {
                    LockSupport.parkNanos(Math.min(50_000_000L, due - System.nanoTime()));
                }
            }
        } catch (SQLException e) {
            failure = e;
        }
    }

    private int transaction(Connection session, SplittableRandom random, long bulkId)
            throws SQLException {
        try {
            boolean bulk = bulkId != 0;
            int count = bulk ? bulkLoad(session, random, bulkId) : mixed(session, random);
            if (!bulk && random.nextInt(10) == 0) {
                session.rollback();
                return count;
            }
            session.commit();
            rows.addAndGet(count);
            transactions.incrementAndGet();
            return count;
        } catch (SQLException e) {
            if (!DEADLOCK_DETECTED.equals(e.getSQLState())) {
                throw e;
            }
            session.rollback();
            return 1;
        }
    }

    private static int mixed(Connection session, SplittableRandom random) throws SQLException {
        return switch (random.nextInt(8)) {
            case 0, 1, 2 -> placeOrder(session, random);
            case 3 ->
                    update(
                            session,
                            "UPDATE shop.orders SET status = 'sent', total = total + 1 WHERE id"
                                    + " BETWEEN ? AND ? + 20",
                            1 + random.nextLong(ShopSchema.ORDERS));
            case 4 ->
                    update(
                            session,
                            "UPDATE shop.products SET price = price * 1.01 WHERE id BETWEEN ? AND ?"
                                    + " + 5",
                            1 + random.nextLong(ShopSchema.PRODUCTS));
            case 5 ->
                    update(
                            session,
                            "DELETE FROM shop.order_items WHERE order_id BETWEEN ? AND ? + 3",
                            1 + random.nextLong(ShopSchema.ORDERS));
            case 6 -> withSavepoints(session, random);
            default -> moveCustomer(session, random);
        };
    }

    private static int update(Connection session, String sql, long from) throws SQLException {
        try (PreparedStatement statement = session.prepareStatement(sql)) {
            statement.setLong(1, from);
            statement.setLong(2, from);
            return statement.executeUpdate();
        }
    }

    private static int placeOrder(Connection session, SplittableRandom random) throws SQLException {
        int count;
        try (PreparedStatement statement =
                session.prepareStatement(
                        "WITH o AS (INSERT INTO shop.orders (id, customer_id, status, total, note)"
                            + " VALUES (nextval('shop.order_ids'), ?, 'new', ?, ?::json) RETURNING"
                            + " id) INSERT INTO shop.order_items SELECT o.id, line, 1 + (o.id *"
                            + " line) % 2000, line, line * 1.25 FROM o, generate_series(1, ?)"
                            + " line")) {
            int lines = 1 + random.nextInt(6);
            statement.setLong(1, 1 + random.nextLong(ShopSchema.CUSTOMERS));
            statement.setBigDecimal(2, java.math.BigDecimal.valueOf(random.nextInt(99_999), 2));
            statement.setString(3, "{\"coupon\": " + random.nextInt(1000) + ", \"a\":  [1,2]}");
            statement.setInt(4, lines);
            count = 1 + statement.executeUpdate();
        }
        return count + event(session, random, "order");
    }

    private static int event(Connection session, SplittableRandom random, String kind)
            throws SQLException {
        try (PreparedStatement statement =
                session.prepareStatement(
                        "INSERT INTO shop.events (id, kind, payload, score, at_time) VALUES"
                                + " (nextval('shop.event_ids'), ?, ?, ?, localtime)")) {
            byte[] payload = new byte[random.nextInt(64)];
            random.nextBytes(payload);
            statement.setString(1, kind);
            statement.setBytes(2, payload);
            statement.setDouble(3, random.nextDouble(-1e6, 1e6));
            return statement.executeUpdate();
        }
    }

    private static int withSavepoints(Connection session, SplittableRandom random)
            throws SQLException {
        int count = event(session, random, "kept");
        for (int i = 0; i < 4; i++) {
            Savepoint savepoint = session.setSavepoint();
            int inner = event(session, random, "savepoint " + i);
            if (random.nextBoolean()) {
                session.rollback(savepoint);
            } else {
                session.releaseSavepoint(savepoint);
                count += inner;
            }
        }
        return count;
    }

    /** A change of key: the row leaves its old one. */
    private static int moveCustomer(Connection session, SplittableRandom random)
            throws SQLException {
        try (PreparedStatement statement =
                session.prepareStatement(
                        "UPDATE shop.customers SET id = nextval('shop.customer_ids'), tags = ?,"
                                + " balance = balance - 1 WHERE id = ?")) {
            statement.setArray(
                    1, session.createArrayOf("text", new String[] {"moved", null, "'q\"\\"}));
            statement.setLong(2, 1 + random.nextLong(ShopSchema.CUSTOMERS));
            return statement.executeUpdate();
        }
    }

    private static int bulkLoad(Connection session, SplittableRandom random, long firstId)
            throws SQLException {
        StringBuilder lines = new StringBuilder();
        for (int i = 0; i < BULK_ROWS; i++) {
            lines.append(firstId - i).append("\tbulk\t\\N\t").append(random.nextInt());
            lines.append('\n');
        }
        byte[] bytes = lines.toString().getBytes(StandardCharsets.UTF_8);
        var copy =
                session.unwrap(PGConnection.class)
                        .getCopyAPI()
                        .copyIn("COPY shop.events (id, kind, payload, score) FROM STDIN");
        copy.writeToCopy(bytes, 0, bytes.length);
        return (int) copy.endCopy();
    }

    /** Lets each session end its transaction. */
    void stop() throws InterruptedException {
        stopping = true;
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
