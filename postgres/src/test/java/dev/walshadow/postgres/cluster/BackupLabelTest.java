package dev.walshadow.postgres.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.HaltException;
import org.junit.jupiter.api.Test;

final class BackupLabelTest {
    private static final String TEXT =
            """
            START WAL LOCATION: 1/2000028 (file 000000030000000100000002)
            CHECKPOINT LOCATION: 1/2000060
            BACKUP METHOD: streamed
            BACKUP FROM: primary
            START TIME: 2026-11-29 19:00:00 UTC
            LABEL: walshadow: a label
            START TIMELINE: 3
            """;

    @Test
    void readsEveryLine() {
        assertThat(BackupLabel.parse(TEXT))
                .isEqualTo(
                        new BackupLabel(
                                0x1_0200_0028L,
                                3,
                                0x1_0200_0060L,
                                "streamed",
                                false,
                                "2026-11-29 19:00:00 UTC",
                                "walshadow: a label",
                                0));
    }

    @Test
    void takesTheTimelineFromTheFileNameIfItHasNoLine() {
        assertThat(BackupLabel.parse(TEXT.replaceFirst("START TIMELINE: 3\n", "")).startTimeline())
                .isEqualTo(3);
    }

    @Test
    void readsAnIncrementalBackupOfAStandby() {
        BackupLabel label =
                BackupLabel.parse(
                        TEXT.replace("primary", "standby") + "INCREMENTAL FROM LSN: 0/10\n");
        assertThat(label.fromStandby()).isTrue();
        assertThat(label.incrementalFrom()).isEqualTo(16);
    }

    @Test
    void refusesACutOrUnreadableLabel() {
        assertThatThrownBy(() -> BackupLabel.parse("")).isInstanceOf(HaltException.class);
        assertThatThrownBy(() -> BackupLabel.parse(TEXT.replace("1/2000060", "x")))
                .isInstanceOf(HaltException.class)
                .hasMessageContaining("an LSN, found x");
        assertThatThrownBy(() -> BackupLabel.parse(TEXT.replace(" (file", "")))
                .isInstanceOf(HaltException.class);
    }
}
