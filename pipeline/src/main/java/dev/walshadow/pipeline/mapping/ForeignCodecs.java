package dev.walshadow.pipeline.mapping;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.catalog.TypeStructure;
import dev.walshadow.postgres.value.DatumRenderer;
import dev.walshadow.postgres.value.ForeignType;
import dev.walshadow.postgres.value.ValueCodec;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Codecs of types that only their extension's library can print. Each asks the renderer, which is
 * slow for one value and fast for many: while {@link #collect} is on, codecs print nothing and only
 * note what they do not know; {@link #ask} then learns all of it at once. What is known is kept,
 * within a bound. One per thread.
 */
public final class ForeignCodecs {
    private static final long KEPT_BYTES = 8L << 20;

    /** What a kept text costs beside its bytes, roughly. */
    private static final int ENTRY_BYTES = 160;

    private final DatumRenderer renderer;
    private final Map<ForeignType, Codec> codecs = new HashMap<>();
    private long keptBytes;
    private boolean collecting;

    public ForeignCodecs(DatumRenderer renderer) {
        this.renderer = renderer;
    }

    /** Null if the type is not of that kind, or its library is not at hand. */
    @Nullable ValueCodec of(TypeDescriptor type) {
        if (!(type.structure() instanceof TypeStructure.Foreign foreign)) {
            return null;
        }
        ForeignType wanted =
                new ForeignType(
                        foreign.library(),
                        foreign.function(),
                        type.length(),
                        type.byValue(),
                        type.alignment());
        Codec known = codecs.get(wanted);
        if (known == null && renderer.renders(wanted)) {
            known = new Codec(wanted);
            codecs.put(wanted, known);
        }
        return known;
    }

    /** Whether there are such types at all. */
    public boolean isEmpty() {
        return codecs.isEmpty();
    }

    /** From now on values are noted, not printed. */
    public void collect() {
        if (keptBytes > KEPT_BYTES) {
            codecs.values().forEach(codec -> codec.known.clear());
            keptBytes = 0;
        }
        collecting = true;
    }

    /** Enough is noted for one question. */
    public boolean isFull() {
        return keptBytes > KEPT_BYTES * 2;
    }

    /**
     * Learns what was noted; values are printed again.
     *
     * @throws dev.walshadow.base.QuarantineException if a value cannot be printed
     */
    public void ask() {
        collecting = false;
        codecs.values().forEach(Codec::ask);
    }

    /** Of one type. */
    private final class Codec implements ValueCodec {
        private final ForeignType type;
        private final Map<ByteBuffer, byte[]> known = new HashMap<>();
        private final Map<ByteBuffer, byte[]> noted = new LinkedHashMap<>();

        Codec(ForeignType type) {
            this.type = type;
        }

        @Override
        public void appendText(byte[] bytes, int offset, int length, ByteBuilder out) {
            byte[] text = known.get(ByteBuffer.wrap(bytes, offset, length));
            if (text != null) {
                out.putBytes(text);
                return;
            }
            byte[] datum = Arrays.copyOfRange(bytes, offset, offset + length);
            if (collecting) {
                if (noted.put(ByteBuffer.wrap(datum), datum) == null) {
                    keptBytes += datum.length * 2L + ENTRY_BYTES;
                }
            } else {
                out.putBytes(renderer.render(type, List.of(datum)).getFirst());
            }
        }

        void ask() {
            if (noted.isEmpty()) {
                return;
            }
            List<byte[]> datums = new ArrayList<>(noted.values());
            noted.clear();
            List<byte[]> texts = renderer.render(type, datums);
            for (int i = 0; i < datums.size(); i++) {
                known.put(ByteBuffer.wrap(datums.get(i)), texts.get(i));
            }
        }
    }
}
