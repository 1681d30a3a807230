package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;

/** What {@code hstore_out} prints. Holds a view, so single-threaded. */
final class HstoreText implements ValueCodec {
    private final HstoreView view = new HstoreView();

    @Override
    public void appendText(byte[] bytes, int offset, int length, ByteBuilder out) {
        view.wrap(bytes, offset, length);
        boolean first = true;
        while (view.next()) {
            if (!first) {
                out.putAscii(", ");
            }
            first = false;
            appendQuoted(bytes, view.keyOffset(), view.keyLength(), out);
            out.putAscii("=>");
            if (view.valueIsNull()) {
                out.putAscii("NULL");
            } else {
                appendQuoted(bytes, view.valueOffset(), view.valueLength(), out);
            }
        }
    }

    private static void appendQuoted(byte[] bytes, int offset, int length, ByteBuilder out) {
        out.putByte('"');
        for (int i = offset; i < offset + length; i++) {
            byte c = bytes[i];
            if (c == '"' || c == '\\') {
                out.putByte('\\');
            }
            out.putByte(c);
        }
        out.putByte('"');
    }
}
