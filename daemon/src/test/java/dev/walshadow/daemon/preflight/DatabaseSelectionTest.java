package dev.walshadow.daemon.preflight;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.shadow.DatabaseInfo;
import java.util.List;
import org.junit.jupiter.api.Test;

class DatabaseSelectionTest {
    private static DatabaseSelection of(String... entries) {
        return new DatabaseSelection(List.of(entries), "shop");
    }

    private static DatabaseInfo database(String name, boolean allowsConnections) {
        return new DatabaseInfo(1, name, "UTF8", 1663, allowsConnections, false, "C", "C");
    }

    @Test
    void followsTheOneOfTheUrlWhereNoneIsNamed() {
        assertThat(of().several()).isFalse();
        assertThat(of().matches("shop")).isTrue();
        assertThat(of().matches("other")).isFalse();
    }

    @Test
    void takesNamesAndWildcards() {
        DatabaseSelection some = of("a.b", "app_*");
        assertThat(some.several()).isTrue();
        assertThat(some.matches("a.b")).isTrue();
        assertThat(some.matches("aXb")).isFalse();
        assertThat(some.matches("app_")).isTrue();
        assertThat(some.matches("shop")).isFalse();
        assertThat(of("one").several()).isFalse();
        assertThat(of("*").several()).isTrue();
    }

    @Test
    void leavesTemplatesAlone() {
        assertThat(of("*").matches("template0")).isFalse();
        assertThat(of("template0", "x").matches("template0")).isFalse();
        assertThat(of("*").matches("template1")).isFalse();
        assertThat(of("template1").matches("template1")).isTrue();
    }

    @Test
    void namesWhatCannotBeFollowed() {
        List<DatabaseInfo> there =
                List.of(database("shop", true), database("shut", false), database("x", true));
        assertThat(of().problems(there)).isEmpty();
        assertThat(of("x", "nothing_*").problems(there)).isEmpty();
        assertThat(of("shut", "gone", "template0", "x").problems(there))
                .hasSize(3)
                .anyMatch(line -> line.contains("shut allows no connections"))
                .anyMatch(line -> line.contains("no database gone"))
                .anyMatch(line -> line.contains("template0 is never followed"));
    }
}
