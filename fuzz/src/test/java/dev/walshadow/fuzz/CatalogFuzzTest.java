package dev.walshadow.fuzz;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.HaltException;
import dev.walshadow.catalog.DescriptorFormat;
import dev.walshadow.catalog.DescriptorPool;
import dev.walshadow.postgres.cluster.ControlFile;

/** Durable descriptors and pg_control of any bytes. */
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
}
