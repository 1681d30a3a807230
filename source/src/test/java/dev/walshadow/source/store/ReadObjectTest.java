package dev.walshadow.source.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.RetryException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class ReadObjectTest {
    @TempDir private Path root;

    private byte[] content(int length) {
        byte[] bytes = new byte[length];
        SplittableRandom random = new SplittableRandom(7);
        for (int i = 0; i < length; i++) {
            // half of it compresses
            bytes[i] = (byte) (i % 2 == 0 ? random.nextInt() : 5);
        }
        return bytes;
    }

    private ReadObject open(Compression how) {
        return ReadObject.open(new FileObjectStore(root), "it" + how.suffix(), how);
    }

    private void write(Compression how, byte[] stored) throws IOException {
        Files.write(root.resolve("it" + how.suffix()), stored);
    }

    @ParameterizedTest
    @EnumSource
    void whatWasCompressedIsRead(Compression how) throws Exception {
        for (int length : new int[] {1, 100, 200_000}) {
            byte[] plain = content(length);
            write(how, CompressedBytes.of(how, plain));
            try (ReadObject object = open(how)) {
                assertThat(object.readAllBytes()).isEqualTo(plain);
                assertThat(object.offset()).isEqualTo(length);
                assertThat(object.storedBytes()).isPositive();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    void anObjectThatWasCutOffIsNamedWithItsOffset(Compression how) throws Exception {
        byte[] stored = CompressedBytes.of(how, content(100_000));
        for (int length : new int[] {1, stored.length / 2, stored.length - 1}) {
            write(how, Arrays.copyOf(stored, length));
            assertThatThrownBy(
                            () -> {
                                try (ReadObject object = open(how)) {
                                    object.readAllBytes();
                                }
                            })
                    .as("%s cut at %d of %d", how, length, stored.length)
                    .isInstanceOf(HaltException.class)
                    .hasMessageContaining(root + "/it" + how.suffix())
                    .hasMessageContaining("behind byte")
                    .hasMessageContaining("use another backup");
        }
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    void anyBytesAreReadOrRefused(Compression how) throws Exception {
        byte[] stored = CompressedBytes.of(how, content(5_000));
        SplittableRandom random = new SplittableRandom(11);
        for (int round = 0; round < 300; round++) {
            byte[] damaged = stored.clone();
            for (int i = 0; i <= round % 4; i++) {
                damaged[random.nextInt(damaged.length)] = (byte) random.nextInt();
            }
            write(how, damaged);
            try (ReadObject object = open(how)) {
                object.transferTo(OutputStream.nullOutputStream());
            } catch (HaltException e) {
                assertThat(e.code()).isEqualTo(StoreCodes.OBJECT_DAMAGED);
            }
        }
    }

    /** What breaks is tried again; it says nothing of the object. */
    @Test
    void aBrokenConnectionIsNoDamage() {
        ObjectStore store =
                new ObjectStore() {
                    @Override
                    public List<StoredObject> list(String folder) {
                        return List.of();
                    }

                    @Override
                    public InputStream open(String name, long offset) {
                        return new InputStream() {
                            @Override
                            public int read() throws IOException {
                                throw new IOException("connection reset");
                            }

                            @Override
                            public int read(byte[] bytes, int from, int length) throws IOException {
                                throw new IOException("connection reset");
                            }
                        };
                    }

                    @Override
                    public String address() {
                        return "s3://bucket/";
                    }

                    @Override
                    public void close() {}
                };
        assertThatThrownBy(
                        () -> {
                            try (ReadObject object =
                                    ReadObject.open(store, "it", Compression.LZ4)) {
                                object.readAllBytes();
                            }
                        })
                .isInstanceOf(RetryException.class)
                .hasMessageContaining("s3://bucket/it")
                .hasMessageContaining("connection reset");
    }

    @Test
    void whatIsMissingIsNamed() {
        assertThatThrownBy(() -> open(Compression.ZSTD))
                .isInstanceOf(HaltException.class)
                .hasMessageContaining("it.zst is not there");
        assertThat(ReadObject.find(new FileObjectStore(root), "it", Compression.NONE)).isNull();
    }

    @Test
    void noNameLeadsOutOfTheStore() {
        assertThatThrownBy(() -> new FileObjectStore(root).list("../.."))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("leads out");
    }

    @Test
    void anAddressIsADirectoryOrABucket() {
        for (String bad :
                List.of("", "file://relative", "file:///no/such/place", "s3://", "ftp://b")) {
            assertThatThrownBy(() -> ObjectStores.open(bad, _ -> null))
                    .as(bad)
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("[backup] url");
        }
        try (ObjectStore store = ObjectStores.open("file://" + root, _ -> null)) {
            assertThat(store.list("nothing")).isEmpty();
        }
    }
}
