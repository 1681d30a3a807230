package dev.walshadow.cli;

import dev.walshadow.daemon.verify.ComparedTable;
import dev.walshadow.daemon.verify.TableResult;
import dev.walshadow.daemon.verify.VerifyProgress;
import java.util.List;

/** Shows a comparison's progress. */
final class VerifyProgressBar implements VerifyProgress {
    private final ProgressBar bar;

    VerifyProgressBar(ProgressBar bar) {
        this.bar = bar;
    }

    @Override
    public void tableStarted(ComparedTable table, int number, int count, long rows) {
        bar.start("verify " + number + "/" + count + " " + table.source(), rows);
    }

    @Override
    public void rowRead() {
        bar.step();
    }

    @Override
    public void tableFinished(TableResult result) {}

    @Override
    public void loadsAnew(List<String> tables) {
        bar.say("loading anew: " + String.join(", ", tables));
    }
}
