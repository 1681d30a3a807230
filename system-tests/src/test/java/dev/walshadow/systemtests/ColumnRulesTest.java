package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import org.junit.jupiter.api.Test;

/** Rules for names and columns hold in the initial load, in the stream and in a load by COPY. */
final class ColumnRulesTest {
    private static final String RULES =
            """
            [transform]
            salt = "sea salt"

            [schemas.public]
            database = "shop"

            [tables."public.people"]
            table = "persons"

            [tables."public.people".columns]
            email = { transform = "hash" }
            phone = { transform = "mask", name = "phone_masked" }
            note = { transform = "truncate(3)" }
            secret = { exclude = true }
            source = { transform = "constant(crm)" }
            gone = { transform = "null" }
            place = { transform = "hash" }
            code = { type = "Int64" }
            born = { type = "DateTime64(3)", lossy = true }
            amount = { type = "Decimal(18, 2)", lossy = true }
            kind = { type = "LowCardinality(String)" }
            tags = { type = "String" }
            raw = { transform = "hash" }

            [tables."public.account".columns.login]
            transform = "hash"
            """;

    private static final String[] SCHEMA = {
        "CREATE TABLE people (id int PRIMARY KEY, email text, phone text, note text, secret text,"
                + " source text, gone int, place point, code int, born timestamptz, amount"
                + " numeric, kind varchar(9), tags text[], raw bytea)",
        "ALTER TABLE people ALTER note SET STORAGE EXTERNAL, ALTER email SET STORAGE EXTERNAL,"
                + " ALTER secret SET STORAGE EXTERNAL",
        "CREATE TABLE account (login text PRIMARY KEY, balance int)",
        rows(1, 200),
        "INSERT INTO account SELECT 'login' || i, i FROM generate_series(1, 50) i"
    };

    private static String rows(int from, int to) {
        return "INSERT INTO people SELECT i, CASE WHEN i % 7 = 0 THEN NULL WHEN i % 5 = 0 THEN"
                + " repeat('mail', 1000) || i ELSE 'mail' || i || '@example.com' END, '+43 ü' ||"
                + " i, repeat('é', i % 5 * 1000) || 'note', repeat('secret', 1000), 's' || i, i,"
                + " point(i, 1), -i, '2020-01-01 00:00:00.123456+00'::timestamptz + i * interval"
                + " '1 day', i * 1.23456, 'k' || i % 3, ARRAY['a', NULL, i::text],"
                + " decode(md5(i::text), 'hex') FROM generate_series("
                + from
                + ", "
                + to
                + ") i";
    }

    @Test
    void loadStreamAndResyncBringTheSame() throws Exception {
        try (Installation installation = Installation.start(18)) {
            installation.configure(RULES);
            installation.execute(SCHEMA);
            installation.startDaemon();
            installation.awaitStreaming();
            requireEqual(installation);
            installation.execute(
                    rows(201, 400),
                    "UPDATE people SET code = code - 1 WHERE id % 3 = 0",
                    "UPDATE people SET id = id + 1000 WHERE id % 10 = 0",
                    "UPDATE people SET email = 'new', born = NULL, amount = 'NaN' WHERE id % 11 ="
                            + " 0",
                    "DELETE FROM people WHERE id % 13 = 0",
                    "UPDATE account SET login = 'other' || balance WHERE balance % 2 = 0",
                    "DELETE FROM account WHERE balance % 5 = 0",
                    "INSERT INTO account VALUES ('again', 7)");
            requireEqual(installation);
            String streamed = content(installation);
            assertThat(streamed).doesNotContain("example.com", "secret", "login1");
            assertThat(column(installation, "phone_masked")).matches("(?s)[*\\n]+");
            assertThat(column(installation, "source")).isEqualTo("crm\n");
            assertThat(
                            installation
                                    .target()
                                    .query("SELECT email FROM shop.persons FINAL WHERE id = 1"))
                    .isEqualTo(hmac("mail1@example.com"));

            installation.resync("public.people");
            installation.resync("public.account");
            requireEqual(installation);
            assertThat(content(installation)).isEqualTo(streamed);

            keepsRulesThroughChanges(installation);
            appliesOtherRulesAtTheNextStart(installation);
        }
    }

    private static String hmac(String text) throws Exception {
        javax.crypto.Mac mac = javax.crypto.Mac.getInstance("HmacSHA256");
        mac.init(
                new javax.crypto.spec.SecretKeySpec(
                        "sea salt".getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
        return java.util.HexFormat.of()
                        .formatHex(mac.doFinal(text.getBytes(StandardCharsets.UTF_8)))
                + "\n";
    }

    /** A column's rule is not undone by a new name of the column or of the table. */
    private static void keepsRulesThroughChanges(Installation installation) throws Exception {
        installation.execute(
                "ALTER TABLE people RENAME email TO mail",
                "ALTER TABLE people RENAME secret TO hidden",
                "INSERT INTO people (id, mail, hidden) VALUES (5001, 'plain@example.com', 'plain')",
                "ALTER TABLE people ADD extra int DEFAULT 7",
                "ALTER TABLE people ALTER code TYPE bigint",
                "INSERT INTO people (id, mail, hidden) VALUES (5002, 'plain@example.com',"
                        + " 'plain')");
        requireEqual(installation);
        assertThat(content(installation)).doesNotContain("example.com", "plain");
        installation.resync("public.people");
        requireEqual(installation);
        assertThat(content(installation)).doesNotContain("example.com", "plain");
        installation.execute(
                "ALTER TABLE people RENAME mail TO email",
                "ALTER TABLE people RENAME hidden TO secret");
        requireEqual(installation);
    }

    private static void appliesOtherRulesAtTheNextStart(Installation installation)
            throws Exception {
        installation.killDaemon();
        String text = Files.readString(installation.configurationFile());
        Files.writeString(
                installation.configurationFile(),
                text.replace("note = { transform = \"truncate(3)\" }", "note = { exclude = true }")
                        .replace("code = { type = \"Int64\" }", "code = { name = \"number\" }")
                        .replace("secret = { exclude = true }", ""));
        installation.startDaemon();
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.reason()).isEmpty();
        assertThat(outcome.notCompared()).containsExactly("public.people.note");
        assertThat(installation.target().query("SELECT count(number) FROM shop.persons"))
                .isNotEqualTo("0\n");
    }

    private static void requireEqual(Installation installation) throws Exception {
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.reason())
                .as(outcome.results().toString() + outcome.setAside())
                .isEmpty();
        assertThat(outcome.results()).hasSize(2);
        assertThat(outcome.notCompared())
                .singleElement()
                .asString()
                .matches("public\\.people\\.(secret|hidden)");
    }

    private static String content(Installation installation) {
        return rows(installation, "shop.persons") + rows(installation, "shop.account");
    }

    private static String rows(Installation installation, String table) {
        return installation
                .target()
                .query(
                        "SELECT * EXCEPT (_version, _is_deleted, _commit_ts, _xid) FROM "
                                + table
                                + " FINAL ORDER BY ALL FORMAT TabSeparatedWithNamesAndTypes");
    }

    private static String column(Installation installation, String column) {
        return installation
                .target()
                .query("SELECT DISTINCT " + column + " FROM shop.persons FINAL");
    }
}
