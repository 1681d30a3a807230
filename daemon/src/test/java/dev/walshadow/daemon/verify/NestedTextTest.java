package dev.walshadow.daemon.verify;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.clickhouse.ClickHouseType;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Both sides' texts of one array have one form. */
final class NestedTextTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '~',
            textBlock =
                    """
                    Array(Nullable(String)) | {a,NULL,"b c","x\\"y"} | ['a',NULL,'b c','x"y']
                    Array(Nullable(String)) | {[,NULL,[a],]}         | ['[',NULL,'[a]',']']
                    Array(Nullable(String)) | {"{","}","NULL"}       | ['{','}','NULL']
                    Array(Nullable(String)) | [2:3]={[x,y]}          | ['[x','y]']
                    Array(Nullable(String)) | {}                     | []
                    Array(Array(Nullable(String))) | {{[a,"b}"},{"{",]}} | [['[a','b}'],['{',']']]
                    Array(Float32)          | [1,2.5]                | [1,2.5]
                    """)
    void sourceAndTargetAreTheSame(String type, String source, String target) {
        ClickHouseType parsed = ClickHouseType.parse(type);
        assertThat(CanonicalText.ofSource(source, parsed, ',', false))
                .isEqualTo(CanonicalText.ofTarget(target, parsed));
    }
}
