package dev.walshadow.bootstrap.reload;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.bootstrap.BootstrapCodes;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.pipeline.encode.ValueLimit;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.Conversion;
import dev.walshadow.pipeline.mapping.ResolvedType;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.value.SendForm;
import dev.walshadow.postgres.value.SendForms;
import dev.walshadow.postgres.value.TypeOid;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How a table's rows arrive from COPY: which columns are asked for in which form, and the
 * descriptor and mapping with which the encoder reads them. Where a column's stored form cannot be
 * had and its target takes PostgreSQL's text, it is asked for as text and the virtual descriptor
 * says that it is one. Target names and types are the given mapping's. Immutable.
 */
public final class LoadShape {
    private static final int TEXT_ARRAY_OID = 1009;
    private static final int ENUM_LENGTH = 4;
    private static final TypeDescriptor TEXT =
            new TypeDescriptor(
                    TypeOid.TEXT, "pg_catalog", "text", 'b', 'S', 0, 0, -1, -1, false, 'i');
    private static final TypeDescriptor TEXT_ARRAY =
            new TypeDescriptor(
                    TEXT_ARRAY_OID,
                    "pg_catalog",
                    "_text",
                    'b',
                    'A',
                    TypeOid.TEXT,
                    0,
                    -1,
                    -1,
                    false,
                    'i');

    /** What the SELECT list says of a column. */
    enum Asked {
        /** The column itself. */
        VALUE,
        /** What the output function prints. */
        OUTPUT,
        /** Cast to text, which changes nothing of what is stored. */
        CAST,
        /** Cast to text[], which changes nothing of what elements store. */
        ARRAY_CAST,
        /** Cast to text[] by the elements' output function. */
        ARRAY_OUTPUT
    }

    /**
     * One column of the SELECT list.
     *
     * @param number attnum
     * @param typeOid the scalar's or the element's, domains resolved
     * @param form of the scalar or of the element; null for an enum, whose labels say it
     */
    record Column(
            int number,
            Asked asked,
            int typeOid,
            @Nullable SendForm form,
            boolean array,
            int elementLength,
            char elementAlignment) {}

    private final RelationDescriptor virtual;
    private final TableMapping mapping;

    /** The mapping of the table's own types. */
    private final TableMapping own;

    private final List<Column> columns;

    private LoadShape(
            RelationDescriptor virtual,
            TableMapping mapping,
            TableMapping own,
            List<Column> columns) {
        this.virtual = virtual;
        this.mapping = mapping;
        this.own = own;
        this.columns = List.copyOf(columns);
    }

    /**
     * @throws QuarantineException if a column's target can be filled neither from its stored form
     *     nor from its text
     */
    public static LoadShape of(RelationDescriptor shape, TableMapping mapping) {
        return new Compiler(shape).compile(mapping);
    }

    /** The shape of the loaded rows' tuples; unmapped columns are NULL in them. */
    public RelationDescriptor virtual() {
        return virtual;
    }

    /** The given mapping, some of its columns read from text. */
    public TableMapping mapping() {
        return mapping;
    }

    /** In the order of the SELECT list, which is attnum order. */
    List<Column> columns() {
        return columns;
    }

    /** Whether PostgreSQL tells the length of the column's values without reading them. */
    boolean isPlain(Column column) {
        ColumnMapping mapped = own.column(column.number());
        return mapped.dimensions() == 0 && ValueLimit.isPlain(mapped.typeOid());
    }

    /** Whether a value that is too large may be cut off. */
    boolean canCut(Column column) {
        return ValueLimit.canCut(own.column(column.number()));
    }

    /** Its type, domains resolved. */
    int typeOid(Column column) {
        return own.column(column.number()).typeOid();
    }

    /** Whether the column is one of the target's key. */
    boolean isKey(Column column) {
        return own.key().contains(column.number());
    }

    private static final class Compiler {
        private final RelationDescriptor shape;
        private final List<AttributeDescriptor> attributes = new ArrayList<>();
        private final List<Column> columns = new ArrayList<>();

        Compiler(RelationDescriptor shape) {
            this.shape = shape;
        }

        LoadShape compile(TableMapping mapping) {
            ColumnMapping[] byNumber = new ColumnMapping[shape.attributes().size() + 1];
            for (ColumnMapping column : mapping.columns()) {
                if (column.attributeNumber() >= byNumber.length) {
                    throw refused(column, "it is not in the table's shape");
                }
                byNumber[column.attributeNumber()] = column;
            }
            ColumnMapping[] read = byNumber.clone();
            for (AttributeDescriptor attribute : shape.attributes()) {
                ColumnMapping column = byNumber[attribute.number()];
                attributes.add(stored(attribute));
                if (column != null) {
                    read[attribute.number()] = compile(attribute, column);
                }
            }
            List<ColumnMapping> inOrder = new ArrayList<>();
            for (ColumnMapping column : mapping.columns()) {
                inOrder.add(read[column.attributeNumber()]);
            }
            return new LoadShape(virtual(), mapping.withColumns(inOrder), mapping, columns);
        }

        /** Every loaded tuple stores all attributes: there are no missing values. */
        private static AttributeDescriptor stored(AttributeDescriptor attribute) {
            return new AttributeDescriptor(
                    attribute.number(),
                    attribute.name(),
                    attribute.typeOid(),
                    attribute.typeModifier(),
                    attribute.length(),
                    attribute.byValue(),
                    attribute.alignment(),
                    attribute.storage(),
                    attribute.notNull(),
                    attribute.dropped(),
                    attribute.generated(),
                    null,
                    attribute.dimensions());
        }

        private ColumnMapping compile(AttributeDescriptor attribute, ColumnMapping column) {
            ResolvedType resolved = ResolvedType.of(shape, attribute);
            if (resolved == null || attribute.dropped()) {
                throw refused(column, "its type is not in the captured catalog");
            }
            TypeDescriptor type = resolved.descriptor();
            boolean array = resolved.dimensions() > 0;
            boolean text = isText(column);
            SendForm sent = sent(type);
            if (column.conversion() == Conversion.HEX) {
                throw refused(
                        column,
                        "its stored bytes arrive as they are, and the source shows them only as"
                                + " text; install the library of "
                                + type.schema()
                                + "."
                                + type.name()
                                + " beside the shadow's PostgreSQL, or exclude the column");
            }
            boolean whole = array && column.type().bare() == ClickHouseType.Scalar.STRING;
            if (whole && (sent == null || column.conversion() != Conversion.ARRAY_TEXT)) {
                return asked(attribute, column, Asked.OUTPUT, SendForms.text(), type, false);
            }
            if (sent != null) {
                add(attribute, Asked.VALUE, type, sent, array);
                return column;
            }
            if (type.oid() == TypeOid.XML) {
                add(
                        attribute,
                        array ? Asked.ARRAY_CAST : Asked.CAST,
                        type,
                        SendForms.text(),
                        array);
                return column;
            }
            if (type.oid() == TypeOid.JSONB && text) {
                SendForm form = SendForms.jsonbAsText();
                return asked(attribute, column, Asked.VALUE, form, type, array);
            }
            if (text) {
                Asked how = array ? Asked.ARRAY_OUTPUT : Asked.OUTPUT;
                return asked(attribute, column, how, SendForms.text(), type, array);
            }
            if (type.kind() == 'e') {
                add(attribute, Asked.VALUE, type, null, array);
                return column;
            }
            throw refused(
                    column,
                    "its type "
                            + type.schema()
                            + "."
                            + type.name()
                            + " cannot be read by COPY as "
                            + column.type().print()
                            + "; map the column to String");
        }

        /** Whether the target is String, or an array of String, and holds PostgreSQL's text. */
        private static boolean isText(ColumnMapping column) {
            ClickHouseType type = column.type().bare();
            while (type instanceof ClickHouseType.Array array) {
                type = array.element().bare();
            }
            return type == ClickHouseType.Scalar.STRING && column.conversion() != Conversion.BYTES;
        }

        private static @Nullable SendForm sent(TypeDescriptor type) {
            SendForm form = SendForms.builtin(type.oid());
            return form == null && type.kind() == 'b' ? SendForms.byName(type.name()) : form;
        }

        /** The column arrives as text or text[]. */
        private ColumnMapping asked(
                AttributeDescriptor attribute,
                ColumnMapping column,
                Asked asked,
                SendForm form,
                TypeDescriptor type,
                boolean array) {
            columns.add(
                    new Column(
                            attribute.number(),
                            asked,
                            type.oid(),
                            form,
                            array,
                            TEXT.length(),
                            TEXT.alignment()));
            attributes.set(
                    attribute.number() - 1,
                    new AttributeDescriptor(
                            attribute.number(),
                            attribute.name(),
                            array ? TEXT_ARRAY_OID : TypeOid.TEXT,
                            -1,
                            -1,
                            false,
                            TEXT.alignment(),
                            'x',
                            attribute.notNull(),
                            false,
                            attribute.generated(),
                            null,
                            array ? column.dimensions() : 0));
            return new ColumnMapping(
                            column.attributeNumber(),
                            column.sourceName(),
                            column.name(),
                            column.type(),
                            Conversion.CHARACTERS,
                            array ? column.dimensions() : 0,
                            TypeOid.TEXT,
                            -1)
                    .withTransform(column.transform());
        }

        private void add(
                AttributeDescriptor attribute,
                Asked asked,
                TypeDescriptor type,
                @Nullable SendForm form,
                boolean array) {
            int length = type.kind() == 'e' ? ENUM_LENGTH : type.length();
            columns.add(
                    new Column(
                            attribute.number(),
                            asked,
                            type.oid(),
                            form,
                            array,
                            length,
                            type.alignment()));
        }

        private RelationDescriptor virtual() {
            List<TypeDescriptor> types = new ArrayList<>(shape.types());
            types.removeIf(type -> type.oid() == TypeOid.TEXT || type.oid() == TEXT_ARRAY_OID);
            types.add(TEXT);
            types.add(TEXT_ARRAY);
            return new RelationDescriptor(
                    shape.oid(),
                    shape.databaseOid(),
                    shape.name(),
                    shape.kind(),
                    shape.persistence(),
                    shape.locator(),
                    shape.toastRelationOid(),
                    shape.ownerRelationOid(),
                    shape.replicaIdentity(),
                    shape.accessMethod(),
                    shape.parentOid(),
                    attributes,
                    shape.primaryKey(),
                    shape.identityKey(),
                    types,
                    shape.keyIndexOid());
        }

        private QuarantineException refused(ColumnMapping column, String why) {
            return new QuarantineException(
                    BootstrapCodes.LOAD_COLUMN,
                    shape.label()
                            + ": column "
                            + column.sourceName()
                            + " cannot be loaded: "
                            + why);
        }
    }
}
