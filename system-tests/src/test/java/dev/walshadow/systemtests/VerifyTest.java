package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.TableResult;
import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import org.junit.jupiter.api.Test;

/** What verify is for: it names exactly the rows that somebody changed in ClickHouse. */
final class VerifyTest {
    /** Above every version of the stream. */
    private static final String NEWER = "toUInt128('170141183460469231731687303715884105728')";

    @Test
    void namesExactlyTheRowsThatWereChangedBehindItsBack() throws Exception {
        try (Installation installation = Installation.start(18)) {
            installation.execute(
                    "CREATE TABLE item (id int PRIMARY KEY, v text)",
                    "INSERT INTO item SELECT i, 'v' || i FROM generate_series(1, 2000) i",
                    "CREATE TABLE untouched (id int PRIMARY KEY)",
                    "INSERT INTO untouched SELECT generate_series(1, 100)");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute("DELETE FROM item WHERE id = 44");
            Verification.Outcome before = installation.verify();
            assertThat(before.reason()).isEmpty();
            change(installation, "id = 11", "'altered' AS v, 0 AS _is_deleted");
            change(installation, "id = 22", "v, 1 AS _is_deleted");
            change(installation, "id = 44", "v, 0 AS _is_deleted");
            installation
                    .target()
                    .query(
                            "INSERT INTO public.item (id, v, _version, _is_deleted) SELECT 3333,"
                                    + " 'added', "
                                    + NEWER
                                    + ", 0");
            Verification.Outcome outcome = installation.verify();
            assertThat(outcome.ok()).isFalse();
            assertThat(outcome.results())
                    .filteredOn(result -> !result.equal())
                    .singleElement()
                    .satisfies(VerifyTest::namesTheFour);
            Installation.CommandResult command = installation.command("verify");
            assertThat(command.exitCode()).as(command.output()).isEqualTo(1);
            assertThat(command.output())
                    .contains("id=11", "altered", "id=22", "id=44", "id=3333")
                    .doesNotContain("id=12");
        }
    }

    private static void namesTheFour(TableResult result) {
        assertThat(result.table().toString()).isEqualTo("public.item");
        assertThat(result.differences())
                .extracting(each -> each.kind() + " " + each.key())
                .containsExactlyInAnyOrder(
                        "DIFFERENT id=11",
                        "MISSING_IN_CLICKHOUSE id=22",
                        "ONLY_IN_CLICKHOUSE id=44",
                        "ONLY_IN_CLICKHOUSE id=3333");
    }

    private static void change(Installation installation, String which, String columns) {
        installation
                .target()
                .query(
                        "INSERT INTO public.item (id, v, _is_deleted, _version) SELECT id, %s, %s"
                                        .formatted(columns, NEWER)
                                + " FROM public.item WHERE %s LIMIT 1".formatted(which));
    }
}
