package dev.walshadow.daemon.preflight;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.catalog.RelationName;
import dev.walshadow.daemon.state.TableDecisions;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class TableSelectionTest {
    @Test
    void everythingButSystemSchemasMatchesByDefault() {
        TableSelection all = new TableSelection(List.of("*"), List.of(), false);
        assertThat(all.matches(new RelationName("public", "orders"))).isTrue();
        assertThat(all.matches(new RelationName("Odd.Schema", "a*b"))).isTrue();
        assertThat(all.matches(new RelationName("pg_catalog", "pg_class"))).isFalse();
        assertThat(all.matches(new RelationName("information_schema", "t"))).isFalse();
    }

    @Test
    void excludeWinsOverInclude() {
        TableSelection some =
                new TableSelection(List.of("shop.*", "audit"), List.of("shop.tmp_*"), false);
        assertThat(some.matches(new RelationName("shop", "orders"))).isTrue();
        assertThat(some.matches(new RelationName("shop", "tmp_1"))).isFalse();
        assertThat(some.matches(new RelationName("any", "audit"))).isTrue();
        assertThat(some.matches(new RelationName("public", "orders"))).isFalse();
    }

    @Test
    void patternsAreNoRegularExpressions() {
        TableSelection odd = new TableSelection(List.of("s.a+(b"), List.of(), false);
        assertThat(odd.matches(new RelationName("s", "a+(b"))).isTrue();
        assertThat(odd.matches(new RelationName("s", "aab"))).isFalse();
    }

    @Test
    void ofSeveralDatabasesTheOneCanBeNamed() {
        TableSelection some =
                new TableSelection(
                        List.of("public.*", "app_*.shop.*"), List.of("b.public.x"), false);
        assertThat(some.matches(new RelationName("a", "public", "x"))).isTrue();
        assertThat(some.matches(new RelationName("b", "public", "x"))).isFalse();
        assertThat(some.matches(new RelationName("app_1", "shop", "y"))).isTrue();
        assertThat(some.matches(new RelationName("a", "shop", "y"))).isFalse();
        assertThat(some.matches(new RelationName("shop", "y"))).isFalse();
    }

    @Test
    void namesThatMatchNoTableAreUnknown() {
        TableSelection some = new TableSelection(List.of("public.ordres", "x*"), List.of(), false);
        assertThat(some.unknown(List.of())).containsExactly("public.ordres");
    }

    @Test
    void decisionsAboutSingleTablesComeBeforeThePatterns() {
        TableSelection some = new TableSelection(List.of("shop.*"), List.of("shop.log"), false);
        some.decide(
                new TableDecisions(
                        Set.of(
                                new RelationName("shop", "log"),
                                new RelationName("pg_catalog", "x")),
                        Map.of(new RelationName("shop", "orders"), false)));
        assertThat(some.matches(new RelationName("shop", "log"))).isTrue();
        assertThat(some.matches(new RelationName("shop", "orders"))).isFalse();
        assertThat(some.matches(new RelationName("shop", "other"))).isTrue();
        assertThat(some.matches(new RelationName("pg_catalog", "x"))).isFalse();
        assertThat(some.matchesPatterns(new RelationName("shop", "orders"))).isTrue();
    }
}
