package dev.walshadow.catalog;

import static dev.walshadow.catalog.Descriptors.table;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class RelationShapesTest {
    private static RelationDescriptor with(
            RelationDescriptor table, List<AttributeDescriptor> attributes, char identity) {
        return new RelationDescriptor(
                table.oid(),
                table.databaseOid(),
                table.name(),
                table.kind(),
                table.persistence(),
                table.locator(),
                table.toastRelationOid() + 1,
                table.ownerRelationOid(),
                identity,
                table.accessMethod(),
                table.parentOid(),
                attributes,
                table.primaryKey(),
                table.identityKey(),
                table.types());
    }

    private static AttributeDescriptor changed(
            AttributeDescriptor from, String name, int type, boolean dropped, boolean notNull) {
        return new AttributeDescriptor(
                from.number(),
                name,
                type,
                from.typeModifier(),
                from.length(),
                from.byValue(),
                from.alignment(),
                'x',
                notNull,
                dropped,
                from.generated(),
                from.missingValue());
    }

    @Test
    void namesTheFirstDifference() {
        RelationDescriptor table = table(1, 10, "id", "note");
        assertThat(RelationShapes.shapeDiffers(table, table(1, 10, "id", "note"))).isNull();
        // other storage is the same shape: TRUNCATE, CLUSTER, VACUUM FULL
        assertThat(RelationShapes.shapeDiffers(table, table(1, 11, "id", "note"))).isNull();
        assertThat(RelationShapes.shapeDiffers(table, table(1, 10, "id", "note", "extra")))
                .isEqualTo("column extra was added");
        assertThat(RelationShapes.shapeDiffers(table, table(1, 10, "id")))
                .isEqualTo("column note is gone");
        assertThat(RelationShapes.shapeDiffers(table, table(2, 10, "id", "note")))
                .isEqualTo("another relation: OID 1 became 2");
        assertThat(RelationShapes.shapeDiffers(table, with(table, table.attributes(), 'f')))
                .isEqualTo("the replica identity changed from d to f");
    }

    @Test
    void namesAColumnThatIsRenamedRetypedOrDropped() {
        RelationDescriptor table = table(1, 10, "id", "note");
        AttributeDescriptor note = table.attributes().get(1);
        assertThat(difference(table, changed(note, "text", note.typeOid(), false, false)))
                .isEqualTo("column note was renamed to text");
        assertThat(difference(table, changed(note, "note", 20, false, false)))
                .isEqualTo("column note's type changed from int4 to 20");
        assertThat(difference(table, changed(note, "........pg.dropped.2........", 0, true, false)))
                .isEqualTo("column note was dropped");
    }

    private static RelationDescriptor typed(RelationDescriptor table, TypeStructure structure) {
        return new RelationDescriptor(
                table.oid(),
                table.databaseOid(),
                table.name(),
                table.kind(),
                table.persistence(),
                table.locator(),
                0,
                0,
                'd',
                "heap",
                0,
                table.attributes(),
                table.primaryKey(),
                table.identityKey(),
                List.of(Descriptors.type(23, "mood").with(structure)));
    }

    private static TypeStructure labels(String... labels) {
        List<TypeStructure.EnumLabel> all = new ArrayList<>();
        for (String label : labels) {
            String[] parts = label.split(" ", -1);
            all.add(new TypeStructure.EnumLabel(Integer.parseInt(parts[0]), parts[1]));
        }
        return new TypeStructure.Enumeration(all);
    }

    @Test
    void seesIntoTheTypesOfColumns() {
        RelationDescriptor table = table(1, 10, "id");
        RelationDescriptor before = typed(table, labels("1 sad", "2 ok"));
        assertThat(RelationShapes.shapeDiffers(before, typed(table, labels("1 sad", "2 ok"))))
                .isNull();
        assertThat(RelationShapes.shapeDiffers(before, typed(table, labels("1 sad", "2 fine"))))
                .isEqualTo("type pg_catalog.mood changed: label ok was renamed to fine");
        assertThat(
                        RelationShapes.shapeDiffers(
                                before, typed(table, labels("3 new", "1 sad", "2 ok"))))
                .isEqualTo("type pg_catalog.mood changed: label new was added");
        TypeStructure row = new TypeStructure.Composite(99, List.of(Descriptors.attribute(1, "a")));
        TypeStructure longer =
                new TypeStructure.Composite(
                        99, List.of(Descriptors.attribute(1, "a"), Descriptors.attribute(2, "b")));
        assertThat(RelationShapes.shapeDiffers(typed(table, row), typed(table, longer)))
                .isEqualTo("type pg_catalog.mood changed");
    }

    @Test
    void ignoresWhatDecodingDoesNotSee() {
        RelationDescriptor table = table(1, 10, "id", "note");
        AttributeDescriptor note = table.attributes().get(1);
        assertThat(difference(table, changed(note, "note", note.typeOid(), false, true))).isNull();
    }

    @Test
    void seesThatValuesMayBeStoredOutOfLine() {
        RelationDescriptor table = table(1, 10, "id", "note");
        RelationDescriptor toasted = with(table, table.attributes(), 'd');
        assertThat(RelationShapes.shapeDiffers(table, toasted))
                .isEqualTo("values may be stored out of line now");
        assertThat(RelationShapes.shapeDiffers(toasted, table)).isNull();
    }

    private static @Nullable String difference(
            RelationDescriptor table, AttributeDescriptor second) {
        List<AttributeDescriptor> attributes = new ArrayList<>(table.attributes());
        attributes.set(1, second);
        RelationDescriptor toasted = with(table, table.attributes(), 'd');
        return RelationShapes.shapeDiffers(toasted, with(toasted, attributes, 'd'));
    }
}
