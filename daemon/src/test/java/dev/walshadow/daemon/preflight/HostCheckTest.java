package dev.walshadow.daemon.preflight;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What of preflight no server here can be made to have. */
final class HostCheckTest {
    private static String clock(long asked, long server, long answered) {
        Findings findings = new Findings();
        HostCheck.clock("the source", asked, server, answered, findings);
        assertThat(findings.isEmpty()).isTrue();
        return String.join("\n", findings.advice());
    }

    @Test
    void aClockIsOffOnlyByMoreThanTheAnswerTook() {
        assertThat(clock(100_000, 101_900, 100_000)).isEmpty();
        assertThat(clock(100_000, 104_000, 130_000)).isEmpty();
        assertThat(clock(100_000, 102_600, 100_500))
                .startsWith("WS-1949 the clock of the source is 2.1 s ahead of");
        assertThat(clock(100_000, 90_000, 100_500))
                .startsWith("WS-1949 the clock of the source is 10.0 s behind");
    }

    @Test
    void aHeapThatTheMachineHasNotIsTold() {
        Findings findings = new Findings();
        HostCheck.memory(640L << 20, 2048L << 20, findings);
        assertThat(findings.advice()).isEmpty();
        HostCheck.memory(640L << 20, 1024L << 20, findings);
        assertThat(findings.advice())
                .singleElement()
                .asString()
                .startsWith("WS-1950 the heap may take 640 MB")
                .contains("this machine has 1024 MB");
    }

    @Test
    void anOldClickHouseIsRefused() {
        Findings findings = new Findings();
        Advice.targetVersion("23.2.1.2537", findings);
        Advice.targetVersion("26.7.3", findings);
        assertThat(findings.isEmpty()).isTrue();
        Advice.targetVersion("22.8.15.23", findings);
        assertThat(findings.lines()).singleElement().asString().startsWith("WS-1944");
    }
}
