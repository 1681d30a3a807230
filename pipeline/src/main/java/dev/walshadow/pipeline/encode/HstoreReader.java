package dev.walshadow.pipeline.encode;

import dev.walshadow.clickhouse.ArrayColumn;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.NullableColumn;
import dev.walshadow.clickhouse.TupleColumn;
import dev.walshadow.postgres.value.HstoreView;

/** hstore into Map(String, Nullable(String)), pairs in their stored order. */
final class HstoreReader extends ValueReader {
    private final HstoreView view = new HstoreView();
    private final TextReaders.Characters characters;

    HstoreReader(TextReaders.Characters characters) {
        this.characters = characters;
    }

    @Override
    boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
        view.wrap(bytes, offset, length);
        ArrayColumn map = (ArrayColumn) out;
        TupleColumn pair = (TupleColumn) map.elements();
        NullableColumn values = (NullableColumn) pair.element(1);
        while (view.next()) {
            characters.append(bytes, view.keyOffset(), view.keyLength(), pair.element(0));
            if (view.valueIsNull()) {
                values.appendNull();
            } else {
                characters.append(bytes, view.valueOffset(), view.valueLength(), values.inner());
                values.present();
            }
        }
        map.endRow();
        return true;
    }
}
