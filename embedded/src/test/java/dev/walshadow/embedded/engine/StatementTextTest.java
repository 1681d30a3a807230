package dev.walshadow.embedded.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class StatementTextTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "INSERT INTO t FORMAT Native| INSERT INTO t | Native | ''",
                "insert into t (a, `format`) settings x='FORMAT TSV' format TSV\\n1\\t2|"
                        + "insert into t (a, `format`) settings x='FORMAT TSV' | TSV | 1\\t2",
                "INSERT INTO t -- VALUES\\n VALUES (1, '(')|INSERT INTO t -- VALUES\\n | Values |"
                        + " (1, '(')",
                "/* SELECT */ INSERT INTO \"a\\\"b\" FORMAT CSV \\r\\n\\n1|"
                        + "/* SELECT */ INSERT INTO \"a\\\"b\" | CSV | \\n1",
                "INSERT INTO t| INSERT INTO t | | ''"
            })
    void separatesTheRowsOfAnInsert(String line, String head, String format, String data) {
        String text = line.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t");
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        StatementText statement = StatementText.of(bytes, bytes.length);
        assertThat(statement.kind()).isEqualTo(StatementText.Kind.INSERT_DATA);
        assertThat(statement.format()).isEqualTo(format);
        assertThat(text.substring(0, statement.headLength()).strip())
                .isEqualTo(head.replace("\\n", "\n").strip());
        assertThat(text.substring(statement.dataOffset()).strip())
                .isEqualTo(data.replace("\\n", "\n").replace("\\t", "\t").strip());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "INSERT INTO t SELECT 1",
                "INSERT INTO t (a) WITH x AS (SELECT 1) SELECT * FROM x",
                "INSERT INTO t (SELECT 1)",
                "CREATE TABLE format (a Int32) ENGINE = Memory",
                "  "
            })
    void leavesEverythingElseToTheEngine(String text) {
        assertThat(of(text).kind()).isEqualTo(StatementText.Kind.OTHER);
    }

    @Test
    void findsTheFormatOfAQuery() {
        assertThat(of("SELECT 'FORMAT x' FROM (SELECT 1 FORMAT y)").format()).isNull();
        assertThat(of("WITH 1 AS a SELECT a Format JSONEachRow;").format())
                .isEqualTo("JSONEachRow");
        assertThat(of("SELECT 1").kind()).isEqualTo(StatementText.Kind.SELECT);
    }

    private static StatementText of(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return StatementText.of(bytes, bytes.length);
    }
}
