package dev.walshadow.pipeline.encode;

import dev.walshadow.clickhouse.StringColumn;
import dev.walshadow.pipeline.encode.PolicyCounts.Policy;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.Charset;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Brings text to UTF-8. Not thread safe. Only text that is not ASCII in a charset allocates. */
final class TextConverter {
    private final boolean utf8;
    private final @Nullable CharsetDecoder source;
    private final CharsetEncoder target = StandardCharsets.UTF_8.newEncoder();
    private final CharsetDecoder validator = StandardCharsets.UTF_8.newDecoder();
    private CharBuffer characters = CharBuffer.allocate(0);
    private byte[] converted = {};
    private final PolicyCounts counts;

    TextConverter(SourceEncoding encoding, PolicyCounts counts) {
        this.utf8 = encoding.isUtf8();
        Charset charset = encoding.charset();
        this.source = charset == null ? null : charset.newDecoder();
        this.counts = counts;
        target.onMalformedInput(CodingErrorAction.REPLACE);
        target.onUnmappableCharacter(CodingErrorAction.REPLACE);
    }

    /**
     * Appends the text as UTF-8.
     *
     * @return false if bytes had to be replaced, so that the result is not unique to its source
     */
    boolean append(byte[] bytes, int offset, int length, StringColumn out) {
        if (utf8 || isAscii(bytes, offset, length)) {
            out.append(bytes, offset, length);
            return true;
        }
        if (source == null) {
            if (!decodes(validator, bytes, offset, length)) {
                counts.add(Policy.INVALID_TEXT);
            }
            out.append(bytes, offset, length);
            return true;
        }
        boolean valid = decodes(source, bytes, offset, length);
        if (!valid) {
            counts.add(Policy.INVALID_TEXT);
            source.onMalformedInput(CodingErrorAction.REPLACE);
            source.onUnmappableCharacter(CodingErrorAction.REPLACE);
            decodes(source, bytes, offset, length);
            source.onMalformedInput(CodingErrorAction.REPORT);
            source.onUnmappableCharacter(CodingErrorAction.REPORT);
        }
        encode(out);
        return valid;
    }

    /**
     * Appends the first {@code most} characters of a text of which at least that many are there;
     * its last character may be cut off.
     */
    void appendCut(byte[] bytes, int length, int most, StringColumn out) {
        if (source == null) {
            out.append(bytes, 0, end(bytes, length, most));
            return;
        }
        source.onMalformedInput(CodingErrorAction.REPLACE);
        source.onUnmappableCharacter(CodingErrorAction.REPLACE);
        decodes(source, bytes, 0, length);
        source.onMalformedInput(CodingErrorAction.REPORT);
        source.onUnmappableCharacter(CodingErrorAction.REPORT);
        int characterCount = Character.codePointCount(characters, 0, characters.length());
        if (characterCount > most) {
            characters.limit(Character.offsetByCodePoints(characters, 0, most));
        }
        encode(out);
    }

    /** Where the character behind the first {@code most} begins in UTF-8. */
    private static int end(byte[] bytes, int length, int most) {
        int count = 0;
        for (int i = 0; i < length; i++) {
            boolean begins = (bytes[i] & 0xC0) != 0x80;
            if (begins && count++ == most) {
                return i;
            }
        }
        return length;
    }

    private static boolean isAscii(byte[] bytes, int offset, int length) {
        int all = 0;
        for (int i = offset; i < offset + length; i++) {
            all |= bytes[i];
        }
        return all >= 0;
    }

    /** Decodes into {@link #characters}; false at the first byte that does not belong. */
    private boolean decodes(CharsetDecoder decoder, byte[] bytes, int offset, int length) {
        if (characters.capacity() < length + 1) {
            characters = CharBuffer.allocate(Math.max(length + 1, characters.capacity() * 2));
        }
        characters.clear();
        decoder.reset();
        CoderResult result =
                decoder.decode(ByteBuffer.wrap(bytes, offset, length), characters, true);
        if (result.isUnderflow()) {
            result = decoder.flush(characters);
        }
        characters.flip();
        return result.isUnderflow();
    }

    private void encode(StringColumn out) {
        int most = characters.remaining() * 3;
        if (converted.length < most) {
            converted = new byte[most * 2];
        }
        ByteBuffer buffer = ByteBuffer.wrap(converted);
        target.reset();
        target.encode(characters, buffer, true);
        target.flush(buffer);
        out.append(converted, 0, buffer.position());
    }
}
