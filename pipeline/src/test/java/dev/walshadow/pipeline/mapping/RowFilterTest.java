package dev.walshadow.pipeline.mapping;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

final class RowFilterTest {
    private static String read(String text) {
        String printed = RowFilter.parse(text).print();
        assertThat(RowFilter.parse(printed).print()).isEqualTo(printed);
        return printed;
    }

    @Test
    void andBindsCloserThanOrAndNotClosest() {
        assertThat(read("a = 1 or b = 2 and not c = 3"))
                .isEqualTo("(a = 1 OR (b = 2 AND NOT (c = 3)))");
        assertThat(read("(a = 1 or b = 2) AND c")).isEqualTo("((a = 1 OR b = 2) AND c)");
    }

    @Test
    void operatorsAreReadFromBothSides() {
        assertThat(read("5 < a and a != -1.5e3 and 'x' = b"))
                .isEqualTo("(a > 5 AND a <> -1.5e3 AND b = 'x')");
        assertThat(read("a>=1 and a<=.5 and a<>'it''s'"))
                .isEqualTo("(a >= 1 AND a <= .5 AND a <> 'it''s')");
    }

    @Test
    void setsAndNullAreRead() {
        assertThat(read("a not in ('x', 'y') and b in (1) and c is not null and d IS NULL"))
                .isEqualTo(
                        "(NOT (a IN ('x', 'y')) AND b IN (1) AND NOT (c IS NULL) AND d IS NULL)");
    }

    @Test
    void namesFoldUnlessQuoted() {
        assertThat(RowFilter.parse("Status = 'A' and \"Status\" = 'B' and $3 is null").columns())
                .containsExactly("$3", "Status", "status");
    }

    @Test
    void faultsNameTheirPlace() {
        refused("a = ", "expected a number, a text in single quotes, true or false", "the end");
        refused("a = b", "at character 5", "\"b\"");
        refused("a = 1 b = 2", "expected AND, OR or the end at character 7");
        refused("(a = 1", "expected )");
        refused("a = 'open", "at character 5");
        refused("a is 5", "expected NULL at character 6");
        refused("lower(a) = 'x'", "at character 6");
        refused("", "expected a column at character 1");
        refused("a in ()", "at character 7");
        refused("a = null", "at character 5");
        refused("\"$1\" = 3", "expected a column whose name does not begin with $");
        refused("(".repeat(1000), "inside of each other");
    }

    private static void refused(String text, String... said) {
        assertThatThrownBy(() -> RowFilter.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .message()
                .contains(said);
    }
}
