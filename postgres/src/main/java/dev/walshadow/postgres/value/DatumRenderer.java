package dev.walshadow.postgres.value;

import java.util.List;

/** Prints stored datums of types that no codec here knows, by somebody who has their library. */
public interface DatumRenderer {
    /** Nobody is there. */
    DatumRenderer NONE =
            new DatumRenderer() {
                @Override
                public boolean renders(ForeignType type) {
                    return false;
                }

                @Override
                public List<byte[]> render(ForeignType type, List<byte[]> datums) {
                    throw new IllegalStateException("nothing renders " + type);
                }
            };

    /** Whether the type's library is at hand. */
    boolean renders(ForeignType type);

    /**
     * What the type's output function prints, for each datum, in the source database's encoding.
     *
     * @param datums as a {@link ValueCodec} gets them: of a varlena the detoasted payload
     * @throws dev.walshadow.base.QuarantineException if a datum cannot be printed
     */
    List<byte[]> render(ForeignType type, List<byte[]> datums);
}
