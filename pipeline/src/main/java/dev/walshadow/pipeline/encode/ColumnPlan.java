package dev.walshadow.pipeline.encode;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.Conversion;
import dev.walshadow.pipeline.mapping.ForeignCodecs;
import dev.walshadow.pipeline.mapping.MappingCodes;
import dev.walshadow.pipeline.mapping.OutOfRange;
import dev.walshadow.pipeline.mapping.ResolvedType;
import dev.walshadow.pipeline.mapping.Transform;
import dev.walshadow.pipeline.mapping.TypeCodecs;
import dev.walshadow.postgres.value.Codecs;
import dev.walshadow.postgres.value.NumericScaler;
import dev.walshadow.postgres.value.TypeOid;
import dev.walshadow.postgres.value.ValueCodec;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How one column is read.
 *
 * @param index in the mapping's columns
 * @param attribute index of the attribute in tuples
 * @param missing RowBinary of the value of rows that were written before the column existed
 * @param fixed RowBinary of what every row gets, whatever its value is; null: its value
 * @param canBeCut the beginning of a value that is too large is sent, where that is wanted
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never changed
record ColumnPlan(
        int index,
        int attribute,
        String name,
        boolean isKey,
        boolean varlena,
        ValueReader reader,
        byte[] missing,
        byte @Nullable [] fixed,
        boolean canBeCut) {

    /** Compiles plans that share one converter and one set of counts. */
    static final class Compiler {
        private final RelationDescriptor shape;
        private final TextConverter converter;
        private final PolicyCounts counts;
        private final TypeCodecs codecs;
        private final ValueLimit limit;

        Compiler(
                RelationDescriptor shape,
                SourceEncoding encoding,
                TextConverter converter,
                PolicyCounts counts,
                ValueLimit limit,
                ForeignCodecs foreign) {
            this.limit = limit;
            this.shape = shape;
            this.converter = converter;
            this.counts = counts;
            this.codecs = new TypeCodecs(shape.types(), encoding.charset(), foreign);
        }

        ColumnPlan compile(int index, ColumnMapping column, boolean isKey) {
            AttributeDescriptor attribute = attribute(column);
            ResolvedType resolved = ResolvedType.of(shape, attribute);
            if (resolved == null
                    || resolved.descriptor().oid() != column.typeOid()
                    || resolved.modifier() != column.typeModifier()
                    || resolved.dimensions() != column.dimensions()) {
                throw mismatch(
                        "column "
                                + column.sourceName()
                                + " was mapped from another type than it has now");
            }
            TypeDescriptor type = resolved.descriptor();
            // a whole array's text is that of its own type, else the element's is wanted
            int printed =
                    column.conversion() == Conversion.ARRAY_TEXT ? attribute.typeOid() : type.oid();
            boolean ignored = column.transform() != null && column.transform().isFixed();
            ValueReader scalar = ignored ? new TextReaders.Bytes() : reader(column, printed, isKey);
            ValueReader reader =
                    column.dimensions() == 0 || column.conversion() == Conversion.ARRAY_TEXT
                            ? scalar
                            : new ArrayReader(
                                    scalar,
                                    type.length(),
                                    type.alignment(),
                                    column.dimensions(),
                                    counts);
            Transform transform = column.transform();
            byte[] missing = MissingValue.of(column, type.delimiter(), attribute.missingValue());
            return new ColumnPlan(
                    index,
                    attribute.number() - 1,
                    column.sourceName(),
                    isKey,
                    attribute.length() == -1,
                    transform == null ? reader : new TransformReader(transform, reader),
                    missing,
                    transform != null && transform.isFixed() ? missing : null,
                    ValueLimit.canCut(column));
        }

        private AttributeDescriptor attribute(ColumnMapping column) {
            for (AttributeDescriptor attribute : shape.attributes()) {
                if (attribute.number() == column.attributeNumber() && !attribute.dropped()) {
                    return attribute;
                }
            }
            throw mismatch("column " + column.sourceName() + " no longer exists");
        }

        private ValueReader reader(ColumnMapping column, int typeOid, boolean isKey) {
            TextReaders.Characters characters = new TextReaders.Characters(converter, isKey);
            return switch (column.conversion()) {
                case BOOL -> new FixedReaders.Int8();
                case INT16, INT32, UINT32 -> integer(column);
                case FLOAT32 -> new FixedReaders.Int32();
                case INT64, UINT64, FLOAT64, TIME64 -> new FixedReaders.Int64();
                case MONEY -> new FixedReaders.Money();
                case UUID -> new FixedReaders.Uuid();
                case DATE32 -> new TemporalReaders.Date32(counts, policy(column));
                case DATETIME64 ->
                        new TemporalReaders.DateTime64(
                                ((ClickHouseType.DateTime64) scalarType(column)).precision(),
                                counts,
                                policy(column));
                case DECIMAL -> decimal(column, isKey);
                case BYTES -> new TextReaders.Bytes();
                case CHARACTERS -> characters;
                case NAME -> new TextReaders.Name(characters);
                case ENUM -> new EnumReader(column.enumNumbers());
                case HSTORE -> new HstoreReader(characters);
                case VECTOR -> new VectorReaders.Floats();
                case HALFVEC -> new VectorReaders.Halves();
                case HEX ->
                        new TextReaders.Rendered(
                                Objects.requireNonNull(Codecs.builtin(TypeOid.BYTEA)),
                                characters,
                                limit);
                case TEXT, ARRAY_TEXT ->
                        new TextReaders.Rendered(codec(column, typeOid), characters, limit);
            };
        }

        /** As wide as in the source, or wider by an override. */
        private static ValueReader integer(ColumnMapping column) {
            int width = ((ClickHouseType.Scalar) scalarType(column)).width();
            boolean narrow = column.conversion() == Conversion.INT16;
            if (width == (narrow ? Short.BYTES : Integer.BYTES)) {
                return narrow ? new FixedReaders.Int16() : new FixedReaders.Int32();
            }
            return new FixedReaders.Widened(column.conversion(), width);
        }

        private static OutOfRange policy(ColumnMapping column) {
            OutOfRange own = column.outOfRange();
            return own == null ? OutOfRange.CLAMP : own;
        }

        private ValueReader decimal(ColumnMapping column, boolean isKey) {
            ClickHouseType.Decimal type = (ClickHouseType.Decimal) scalarType(column);
            return new TextReaders.Decimal(
                    new NumericScaler(type.precision(), type.scale(), type.width()),
                    isKey,
                    counts,
                    column.outOfRange() == OutOfRange.ERROR);
        }

        private ValueCodec codec(ColumnMapping column, int typeOid) {
            ValueCodec codec = codecs.of(typeOid);
            if (codec == null) {
                throw mismatch(
                        "column "
                                + column.sourceName()
                                + ": no codec prints the type with OID "
                                + Integer.toUnsignedString(typeOid));
            }
            return codec;
        }

        private QuarantineException mismatch(String problem) {
            return new QuarantineException(
                    MappingCodes.SHAPE,
                    shape.label()
                            + ": its shape does not belong to its mapping: "
                            + problem
                            + "; resync the table");
        }
    }

    /** The mapped type of a value, without Nullable and Array. */
    static ClickHouseType scalarType(ColumnMapping column) {
        ClickHouseType type = column.type().bare();
        while (type instanceof ClickHouseType.Array array) {
            type = array.element().bare();
        }
        return type;
    }
}
