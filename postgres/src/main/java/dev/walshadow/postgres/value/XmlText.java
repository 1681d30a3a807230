package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What {@code xml_out} prints: the stored text, whose XML declaration loses its encoding, and
 * altogether disappears when it then says nothing (version 1.0, no standalone). A value without a
 * declaration loses one leading newline. Source: {@code xml_out_internal}, {@code parse_xml_decl},
 * {@code print_xml_decl} in {@code src/backend/utils/adt/xml.c}, PostgreSQL 15-18.
 */
final class XmlText {
    private static final byte[] OPEN = ascii("<?xml");
    private static final byte[] CLOSE = ascii("?>");
    private static final byte[] VERSION = ascii("version");
    private static final byte[] ENCODING = ascii("encoding");
    private static final byte[] STANDALONE = ascii("standalone");

    private final byte[] bytes;
    private final int end;
    private int at;
    private @Nullable String version;
    private @Nullable String standalone;

    private XmlText(byte[] bytes, int offset, int end) {
        this.bytes = bytes;
        this.end = end;
        this.at = offset;
    }

    static void xml(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("xml", bytes, offset, length);
        XmlText text = new XmlText(bytes, offset, offset + length);
        if (!text.parseDeclaration(offset)) {
            out.putBytes(bytes, offset, length);
            return;
        }
        int from = text.at;
        boolean otherVersion = text.version != null && !"1.0".equals(text.version);
        if (otherVersion || text.standalone != null) {
            String shown = text.version == null ? "1.0" : text.version;
            out.putAscii("<?xml version=\"");
            out.putBytes(shown.getBytes(StandardCharsets.ISO_8859_1));
            out.putByte('"');
            if (text.standalone != null) {
                out.putAscii(" standalone=\"");
                out.putAscii(text.standalone);
                out.putByte('"');
            }
            out.putBytes(CLOSE);
        } else if (from < offset + length && bytes[from] == '\n') {
            from++;
        }
        out.putBytes(bytes, from, offset + length - from);
    }

    /** Leaves {@code at} behind the declaration, or at its place if there is none. */
    private boolean parseDeclaration(int start) {
        if (!startsWith(OPEN) || isNameByte(start + OPEN.length)) {
            return true;
        }
        at += OPEN.length;
        version = attribute(VERSION);
        if (version == null) {
            return false;
        }
        if (nextIs(ENCODING) && attribute(ENCODING) == null) {
            return false;
        }
        if (nextIs(STANDALONE)) {
            standalone = attribute(STANDALONE);
            if (!"yes".equals(standalone) && !"no".equals(standalone)) {
                return false;
            }
        }
        skipSpace();
        if (!startsWith(CLOSE)) {
            return false;
        }
        at += CLOSE.length;
        for (int i = start; i < at; i++) {
            if (bytes[i] < 0) {
                return false;
            }
        }
        return true;
    }

    private boolean nextIs(byte[] name) {
        int before = at;
        skipSpace();
        boolean is = startsWith(name);
        at = before;
        return is;
    }

    /** Space, name, =, a quoted value; null if it is anything else. */
    private @Nullable String attribute(byte[] name) {
        int before = at;
        skipSpace();
        if (at == before || !startsWith(name)) {
            return null;
        }
        at += name.length;
        skipSpace();
        if (at >= end || bytes[at] != '=') {
            return null;
        }
        at++;
        skipSpace();
        if (at >= end || (bytes[at] != '"' && bytes[at] != '\'')) {
            return null;
        }
        int from = at + 1;
        int close = from;
        while (close < end && bytes[close] != bytes[at]) {
            close++;
        }
        if (close >= end) {
            return null;
        }
        at = close + 1;
        return new String(bytes, from, close - from, StandardCharsets.ISO_8859_1);
    }

    private void skipSpace() {
        while (at < end
                && (bytes[at] == ' '
                        || bytes[at] == '\t'
                        || bytes[at] == '\n'
                        || bytes[at] == '\r')) {
            at++;
        }
    }

    private boolean startsWith(byte[] word) {
        return end - at >= word.length
                && Arrays.equals(bytes, at, at + word.length, word, 0, word.length);
    }

    /** Whether {@code <?xml} goes on as another processing instruction's name. */
    private boolean isNameByte(int position) {
        if (position >= end) {
            return false;
        }
        int c = bytes[position];
        return c < 0
                || (c >= '0' && c <= '9')
                || (c >= 'A' && c <= 'Z')
                || (c >= 'a' && c <= 'z')
                || c == '-'
                || c == '.'
                || c == '_'
                || c == ':';
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
