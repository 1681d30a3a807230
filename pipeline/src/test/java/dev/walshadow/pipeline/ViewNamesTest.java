package dev.walshadow.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How the views of current rows are called. */
final class ViewNamesTest {
    @Test
    void bothWordsAreReplacedWhereverTheyStand() {
        assertThat(new ViewNames("{database}.{table}_now").of(new TargetName("shop", "o.{x}")))
                .isEqualTo(new TargetName("shop", "o.{x}_now"));
        assertThat(new ViewNames("views.{database}-{table}").of(new TargetName("{table}", "b")))
                .isEqualTo(new TargetName("views", "{table}-b"));
        assertThat(new ViewNames("{database}_v.{table}").of(new TargetName("a$1", "b\\")))
                .isEqualTo(new TargetName("a$1_v", "b\\"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{database}.{table}",
                "{table}_now",
                "views.{table}",
                "{database}.now",
                "{database}.{table}.now",
                ".{database}{table}",
                "{database}{table}.",
                "{database}.{table}_{schema}"
            })
    void whatNamesNotEachTableAnotherViewIsRefused(String pattern) {
        assertThatThrownBy(() -> new ViewNames(pattern))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
