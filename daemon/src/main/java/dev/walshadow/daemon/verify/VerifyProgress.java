package dev.walshadow.daemon.verify;

import java.util.List;

/** Told about progress; called on the comparing thread. */
public interface VerifyProgress {
    VerifyProgress NONE =
            new VerifyProgress() {
                @Override
                public void tableStarted(ComparedTable table, int number, int count, long rows) {}

                @Override
                public void rowRead() {}

                @Override
                public void tableFinished(TableResult result) {}

                @Override
                public void loadsAnew(List<String> tables) {}
            };

    /**
     * @param number from 1
     * @param rows an estimate of the rows that will be read, both sides together
     */
    void tableStarted(ComparedTable table, int number, int count, long rows);

    /** Once per row and side. */
    void rowRead();

    void tableFinished(TableResult result);

    /** These are not equal, and are being loaded from the source. */
    void loadsAnew(List<String> tables);
}
