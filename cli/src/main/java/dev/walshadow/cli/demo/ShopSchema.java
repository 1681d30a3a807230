package dev.walshadow.cli.demo;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

/** The demo's shop: five tables with every kind of column, and some hundred thousand rows. */
final class ShopSchema {
    static final int CUSTOMERS = 50_000;
    static final int PRODUCTS = 2_000;
    static final int ORDERS = 150_000;

    private static final List<String> STATEMENTS =
            List.of(
                    "CREATE SCHEMA shop",
                    """
                    CREATE TABLE shop.customers (
                        id bigint PRIMARY KEY,
                        name text NOT NULL,
                        email varchar(120),
                        balance numeric(12,2) NOT NULL DEFAULT 0,
                        vip boolean NOT NULL DEFAULT false,
                        born date,
                        tags text[],
                        created_at timestamptz NOT NULL DEFAULT now())
                    """,
                    """
                    CREATE TABLE shop.products (
                        id int PRIMARY KEY,
                        sku uuid NOT NULL,
                        title text NOT NULL,
                        description text,
                        price numeric(10,2) NOT NULL,
                        weight real,
                        attributes jsonb NOT NULL DEFAULT '{}')
                    """,
                    """
                    CREATE TABLE shop.orders (
                        id bigint PRIMARY KEY,
                        customer_id bigint NOT NULL,
                        status text NOT NULL,
                        total numeric(12,2),
                        note json,
                        placed_at timestamp NOT NULL DEFAULT now()::timestamp)
                    """,
                    """
                    CREATE TABLE shop.order_items (
                        order_id bigint,
                        line smallint,
                        product_id int NOT NULL,
                        quantity int NOT NULL,
                        price numeric NOT NULL,
                        PRIMARY KEY (order_id, line))
                    """,
                    """
                    CREATE TABLE shop.events (
                        id bigint PRIMARY KEY,
                        kind text NOT NULL,
                        payload bytea,
                        score double precision,
                        at_time time,
                        at timestamptz NOT NULL DEFAULT clock_timestamp())
                    """,
                    "CREATE SEQUENCE shop.order_ids START " + (ORDERS + 1),
                    "CREATE SEQUENCE shop.customer_ids START " + (CUSTOMERS + 1),
                    "CREATE SEQUENCE shop.event_ids");

    private static final List<String> ROWS =
            List.of(
                    """
                    INSERT INTO shop.customers
                    SELECT i, 'Customer ' || i, 'c' || i || '@shop.example',
                        (i * 7919 %% 1000000) / 100.0, i %% 50 = 0,
                        date '1940-01-01' + (i %% 25000), array['t' || i %% 7, null, 'x,y'],
                        timestamptz '2020-01-01' + i * interval '1 minute'
                    FROM generate_series(1, %d) i
                    """
                            .formatted(CUSTOMERS),
                    """
                    INSERT INTO shop.products
                    SELECT i, md5(i::text)::uuid, 'Product ' || i,
                        (SELECT string_agg(md5((i * 1000 + j)::text), '')
                            FROM generate_series(1, 60 + i %% 200) j),
                        (i * 37 %% 100000) / 100.0, i / 3.0,
                        jsonb_build_object('colour', i %% 9, 'sizes', jsonb_build_array(i, i + 1),
                            'on sale', i %% 2 = 0)
                    FROM generate_series(1, %d) i
                    """
                            .formatted(PRODUCTS),
                    """
                    INSERT INTO shop.orders
                    SELECT i, 1 + i %% %d, (array['new', 'paid', 'sent', 'done'])[1 + i %% 4],
                        (i * 31 %% 500000) / 100.0, json_build_object('n', i),
                        timestamp '2021-01-01' + i * interval '7 seconds'
                    FROM generate_series(1, %d) i
                    """
                            .formatted(CUSTOMERS, ORDERS),
                    """
                    INSERT INTO shop.order_items
                    SELECT i, line, 1 + (i * line) %% %d, 1 + i %% 5, (i * line %% 90000) / 100.0
                    FROM generate_series(1, %d) i, generate_series(1, 1 + i %% 3) line
                    """
                            .formatted(PRODUCTS, ORDERS));

    private ShopSchema() {}

    /** Creates the tables and fills them. Returns the number of rows. */
    static long create(Connection connection) throws SQLException {
        long rows = 0;
        try (Statement statement = connection.createStatement()) {
            for (String sql : STATEMENTS) {
                statement.execute(sql);
            }
            for (String sql : ROWS) {
                rows += statement.executeLargeUpdate(sql);
            }
            statement.execute("VACUUM ANALYZE");
        }
        return rows;
    }
}
