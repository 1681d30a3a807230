package dev.walshadow.fuzz;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.catalog.DescriptorFormat;
import dev.walshadow.catalog.DescriptorPool;
import dev.walshadow.postgres.cluster.ControlFile;
import dev.walshadow.postgres.cluster.MultiXactReader;
import dev.walshadow.postgres.cluster.SlruSegments;
import dev.walshadow.postgres.cluster.TransactionStatusReader;
import java.util.Arrays;

/** Durable descriptors, pg_control, pg_xact and pg_multixact of any bytes. */
final class CatalogFuzzTest {
    @FuzzTest(maxDuration = "1m")
    void descriptors(byte[] bytes) {
        try {
            DescriptorFormat.decode(bytes, 0, bytes.length, new DescriptorPool());
        } catch (HaltException e) {
            return;
        }
    }

    @FuzzTest(maxDuration = "1m")
    void controlFile(byte[] bytes) {
        try {
            ControlFile.parse(bytes);
        } catch (HaltException e) {
            return;
        }
    }

    /** First four bytes: whom to ask for; the rest: every file of the directories. */
    @FuzzTest(maxDuration = "1m")
    void statuses(byte[] bytes) {
        if (bytes.length < Integer.BYTES) {
            return;
        }
        int number = LittleEndian.getInt(bytes, 0);
        byte[] file = Arrays.copyOfRange(bytes, Integer.BYTES, bytes.length);
        int status = new TransactionStatusReader(new SlruSegments(name -> file)).status(number);
        Invariant.check(
                status >= TransactionStatusReader.UNKNOWN
                        && status <= TransactionStatusReader.SUB_COMMITTED,
                "a status is one of five");
        try {
            new MultiXactReader(new SlruSegments(name -> file), new SlruSegments(name -> file))
                    .updater(number);
        } catch (HaltException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }
}
