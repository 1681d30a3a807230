package dev.walshadow.shadow;

import static dev.walshadow.shadow.CatalogReader.oid;
import static dev.walshadow.shadow.CatalogReader.string;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.catalog.TypeStructure;
import dev.walshadow.postgres.RelationLocator;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Puts the rows of {@link CatalogQueries} together. One use, one thread. */
final class CatalogAssembly {
    private final boolean namesDatabase;
    private final Map<Integer, Draft> drafts = new LinkedHashMap<>();
    private final Map<Integer, TypeDescriptor> types = new HashMap<>();
    private final Map<Integer, List<TypeStructure.EnumLabel>> labels = new HashMap<>();
    private final Map<Integer, List<AttributeDescriptor>> rows = new HashMap<>();
    private final Map<Integer, Integer> keyIndexes = new HashMap<>();
    private final Map<String, String> names = new HashMap<>();

    private record Draft(
            int oid,
            int databaseOid,
            RelationName name,
            char kind,
            char persistence,
            @Nullable RelationLocator locator,
            int toastOid,
            int ownerOid,
            char identity,
            String accessMethod,
            int parentOid,
            List<AttributeDescriptor> attributes,
            List<Integer> primaryKey,
            List<Integer> identityKey) {}

    CatalogAssembly(boolean namesDatabase) {
        this.namesDatabase = namesDatabase;
    }

    void relation(ResultSet row) throws SQLException {
        int number = oid(row, 8);
        Draft draft =
                new Draft(
                        oid(row, 1),
                        oid(row, 14),
                        new RelationName(
                                namesDatabase ? name(row, 15) : "", name(row, 2), name(row, 3)),
                        character(row, 4),
                        character(row, 5),
                        number == 0 ? null : new RelationLocator(oid(row, 6), oid(row, 7), number),
                        oid(row, 9),
                        oid(row, 10),
                        character(row, 11),
                        name(row, 12),
                        oid(row, 13),
                        new ArrayList<>(),
                        new ArrayList<>(),
                        new ArrayList<>());
        drafts.put(draft.oid(), draft);
    }

    void attribute(ResultSet row) throws SQLException {
        draft(oid(row, 1))
                .attributes()
                .add(attribute(row, character(row, 9), row.getBoolean(10), row.getString(13)));
    }

    /** Of a composite type: NOT NULL and storage mean nothing in its values. */
    void typeAttribute(ResultSet row) throws SQLException {
        rows.computeIfAbsent(oid(row, 1), relation -> new ArrayList<>())
                .add(attribute(row, 'p', false, row.getString(13)));
    }

    private AttributeDescriptor attribute(
            ResultSet row, char storage, boolean notNull, @Nullable String missing)
            throws SQLException {
        return new AttributeDescriptor(
                row.getInt(2),
                name(row, 3),
                oid(row, 4),
                row.getInt(5),
                row.getInt(6),
                row.getBoolean(7),
                character(row, 8),
                storage,
                notNull,
                row.getBoolean(11),
                character(row, 12),
                missing,
                row.getInt(14));
    }

    void key(ResultSet row) throws SQLException {
        Draft draft = draft(oid(row, 1));
        List<Integer> columns = new ArrayList<>();
        for (String number : string(row, 4).split(" ", -1)) {
            columns.add(Integer.valueOf(number));
        }
        if (row.getBoolean(2)) {
            draft.primaryKey().addAll(columns);
        }
        boolean byPrimary = draft.identity() == 'd' || draft.identity() == 'f';
        if (byPrimary ? row.getBoolean(2) : row.getBoolean(3) && draft.identity() == 'i') {
            keyIndexes.put(draft.oid(), oid(row, 5));
        }
        if (row.getBoolean(3) && draft.identity() == 'i') {
            draft.identityKey().addAll(columns);
        }
    }

    void type(ResultSet row) throws SQLException {
        int oid = oid(row, 1);
        char kind = character(row, 4);
        TypeDescriptor type =
                new TypeDescriptor(
                        oid,
                        name(row, 2),
                        name(row, 3),
                        kind,
                        character(row, 5),
                        oid(row, 6),
                        oid(row, 7),
                        row.getInt(8),
                        row.getInt(9),
                        row.getBoolean(10),
                        character(row, 11),
                        character(row, 12),
                        switch (kind) {
                            case 'd' ->
                                    row.getInt(13) == 0
                                            ? TypeStructure.PLAIN
                                            : new TypeStructure.ArrayDomain(row.getInt(13));
                            case 'e' -> new TypeStructure.Enumeration(List.of());
                            case 'c' -> new TypeStructure.Composite(oid(row, 14), List.of());
                            case 'r' -> new TypeStructure.Range(oid(row, 15));
                            case 'm' -> new TypeStructure.Multirange(oid(row, 16));
                            case 'b' -> base(row);
                            default -> TypeStructure.PLAIN;
                        });
        types.put(oid, type);
    }

    private static TypeStructure base(ResultSet row) throws SQLException {
        String library = row.getString(17);
        return row.getString(18) == null
                ? TypeStructure.PLAIN
                : new TypeStructure.Foreign(library == null ? "" : library, string(row, 18));
    }

    void enumLabel(ResultSet row) throws SQLException {
        labels.computeIfAbsent(oid(row, 1), type -> new ArrayList<>())
                .add(new TypeStructure.EnumLabel(oid(row, 2), name(row, 3)));
    }

    /** Gives enums their labels and composites their attributes, which come after their types. */
    private TypeDescriptor completed(TypeDescriptor type) {
        TypeStructure structure =
                switch (type.structure()) {
                    case TypeStructure.Enumeration _ ->
                            new TypeStructure.Enumeration(
                                    labels.getOrDefault(type.oid(), List.of()));
                    case TypeStructure.Composite row ->
                            new TypeStructure.Composite(
                                    row.relationOid(),
                                    rows.getOrDefault(row.relationOid(), List.of()));
                    case TypeStructure.Plain _,
                            TypeStructure.Foreign _,
                            TypeStructure.ArrayDomain _,
                            TypeStructure.Range _,
                            TypeStructure.Multirange _ ->
                            type.structure();
                };
        return structure.equals(type.structure()) ? type : type.with(structure);
    }

    List<RelationDescriptor> build() {
        types.replaceAll((oid, type) -> completed(type));
        List<RelationDescriptor> relations = new ArrayList<>(drafts.size());
        for (Draft draft : drafts.values()) {
            relations.add(
                    new RelationDescriptor(
                            draft.oid(),
                            draft.databaseOid(),
                            draft.name(),
                            draft.kind(),
                            draft.persistence(),
                            draft.locator(),
                            draft.toastOid(),
                            draft.ownerOid(),
                            draft.identity(),
                            draft.accessMethod(),
                            draft.parentOid(),
                            draft.attributes(),
                            draft.primaryKey(),
                            draft.identityKey(),
                            typesOf(draft.attributes()),
                            keyIndexes.getOrDefault(draft.oid(), 0)));
        }
        return relations;
    }

    private List<TypeDescriptor> typesOf(Collection<AttributeDescriptor> attributes) {
        Set<TypeDescriptor> needed = new LinkedHashSet<>();
        for (AttributeDescriptor attribute : attributes) {
            addType(attribute.typeOid(), needed);
        }
        return List.copyOf(needed);
    }

    private void addType(int oid, Set<TypeDescriptor> needed) {
        TypeDescriptor type = types.get(oid);
        if (type != null && needed.add(type)) {
            addType(type.elementOid(), needed);
            addType(type.baseTypeOid(), needed);
            switch (type.structure()) {
                case TypeStructure.Composite row ->
                        row.attributes().forEach(part -> addType(part.typeOid(), needed));
                case TypeStructure.Range range -> addType(range.subtypeOid(), needed);
                case TypeStructure.Multirange multirange -> addType(multirange.rangeOid(), needed);
                case TypeStructure.Plain _,
                        TypeStructure.Foreign _,
                        TypeStructure.ArrayDomain _,
                        TypeStructure.Enumeration _ -> {}
            }
        }
    }

    private Draft draft(int oid) throws SQLException {
        Draft draft = drafts.get(oid);
        if (draft == null) {
            throw new SQLException(
                    "the catalog has rows of relation " + oid + " that nobody asked");
        }
        return draft;
    }

    /** Thousands of tables repeat their column names: keep each once. */
    private String name(ResultSet row, int column) throws SQLException {
        return names.computeIfAbsent(string(row, column), name -> name);
    }

    /** A "char" column; its zero value prints as an empty text. */
    private static char character(ResultSet row, int column) throws SQLException {
        String text = string(row, column);
        return text.isEmpty() ? '\0' : text.charAt(0);
    }
}
