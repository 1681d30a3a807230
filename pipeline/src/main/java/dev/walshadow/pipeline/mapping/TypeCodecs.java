package dev.walshadow.pipeline.mapping;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.catalog.TypeStructure;
import dev.walshadow.catalog.TypeStructure.EnumLabel;
import dev.walshadow.postgres.value.ArrayText;
import dev.walshadow.postgres.value.Codecs;
import dev.walshadow.postgres.value.CompositeText;
import dev.walshadow.postgres.value.EnumText;
import dev.walshadow.postgres.value.MultirangeText;
import dev.walshadow.postgres.value.RangeText;
import dev.walshadow.postgres.value.ValueCodec;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Makes the codec that prints values of a type, whatever it is made of, as PostgreSQL's output
 * function does. Codecs hold state: make one for each thread. Not thread safe.
 */
public final class TypeCodecs {
    /** PostgreSQL's catalogs have no cycles; damaged ones must not run away. */
    private static final int DEPTH_LIMIT = 100;

    private final Map<Integer, TypeDescriptor> types = new HashMap<>();
    private final Charset charset;
    private final ForeignCodecs foreign;

    /**
     * @param types everything that the wanted types are made of
     * @param charset of the source database: names that the catalog knows are printed in it
     * @param foreign for types that no codec here knows
     */
    public TypeCodecs(
            List<TypeDescriptor> types, @Nullable Charset charset, ForeignCodecs foreign) {
        types.forEach(type -> this.types.put(type.oid(), type));
        this.charset = charset == null ? StandardCharsets.UTF_8 : charset;
        this.foreign = foreign;
    }

    /** Null, if the type or a part of it cannot be printed. */
    public @Nullable ValueCodec of(int typeOid) {
        return of(typeOid, 0);
    }

    private @Nullable ValueCodec of(int typeOid, int depth) {
        TypeDescriptor type = types.get(typeOid);
        if (type == null || depth > DEPTH_LIMIT) {
            return null;
        }
        if (ResolvedType.isArray(type)) {
            TypeDescriptor element = types.get(type.elementOid());
            ValueCodec codec = of(type.elementOid(), depth + 1);
            return element == null || codec == null
                    ? null
                    : new ArrayText(
                            element.length(), element.alignment(), element.delimiter(), codec);
        }
        return switch (type.kind()) {
            case 'd' -> of(type.baseTypeOid(), depth + 1);
            case 'b' -> base(type);
            default -> structured(type.structure(), depth);
        };
    }

    private @Nullable ValueCodec base(TypeDescriptor type) {
        ValueCodec codec = Codecs.builtin(type.oid());
        if (codec == null) {
            codec = Codecs.byName(type.name());
        }
        if (codec == null
                && type.structure() instanceof TypeStructure.Foreign output
                && output.isBuiltin()) {
            return Codecs.byFunction(output.function());
        }
        return codec == null ? foreign.of(type) : codec;
    }

    private @Nullable ValueCodec structured(TypeStructure structure, int depth) {
        return switch (structure) {
            case TypeStructure.Enumeration enumeration -> enumeration(enumeration.labels());
            case TypeStructure.Composite composite -> composite(composite.attributes(), depth);
            case TypeStructure.Range range -> range(range.subtypeOid(), depth);
            case TypeStructure.Multirange multirange -> multirange(multirange.rangeOid(), depth);
            case TypeStructure.Plain _, TypeStructure.Foreign _, TypeStructure.ArrayDomain _ ->
                    null;
        };
    }

    private ValueCodec enumeration(List<EnumLabel> labels) {
        int[] oids = new int[labels.size()];
        byte[][] texts = new byte[oids.length][];
        for (int i = 0; i < oids.length; i++) {
            oids[i] = labels.get(i).oid();
            texts[i] = labels.get(i).label().getBytes(charset);
        }
        return new EnumText(oids, texts);
    }

    private @Nullable ValueCodec composite(List<AttributeDescriptor> attributes, int depth) {
        CompositeText.Field[] fields = new CompositeText.Field[attributes.size()];
        for (int i = 0; i < fields.length; i++) {
            AttributeDescriptor attribute = attributes.get(i);
            ValueCodec codec = attribute.dropped() ? null : of(attribute.typeOid(), depth + 1);
            if (codec == null && !attribute.dropped()) {
                return null;
            }
            String missing = attribute.missingValue();
            fields[i] =
                    new CompositeText.Field(
                            attribute.length(),
                            attribute.alignment(),
                            codec,
                            missing == null ? null : missing.getBytes(charset));
        }
        return new CompositeText(fields);
    }

    private @Nullable RangeText range(int subtypeOid, int depth) {
        TypeDescriptor subtype = types.get(subtypeOid);
        ValueCodec codec = of(subtypeOid, depth + 1);
        return subtype == null || codec == null
                ? null
                : new RangeText(subtype.length(), subtype.alignment(), codec);
    }

    private @Nullable ValueCodec multirange(int rangeOid, int depth) {
        TypeDescriptor range = types.get(rangeOid);
        RangeText codec =
                range != null && range.structure() instanceof TypeStructure.Range structure
                        ? range(structure.subtypeOid(), depth + 1)
                        : null;
        return codec == null ? null : new MultirangeText(codec);
    }
}
