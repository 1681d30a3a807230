package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ByteBuilder;
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

/**
 * Brings text to UTF-8. Not thread safe. Text that is not ASCII in a charset goes through buffers
 * of fixed size, a thread's own; what is longer than those is decoded twice, first for its length,
 * so that a value takes no memory besides its column's.
 */
final class TextConverter {
    private static final int PIECE_CHARACTERS = 8192;
    private static final int BYTES_PER_CHARACTER = 3;
    private static final long MALFORMED = -1;

    private final boolean utf8;
    private final @Nullable CharsetDecoder source;
    private final PolicyCounts counts;

    /** Of each thread and not each converter: tens of thousands of tables have one. */
    private static final class Pieces {
        private static final ThreadLocal<Pieces> OWN = ThreadLocal.withInitial(Pieces::new);

        final CharsetEncoder target = StandardCharsets.UTF_8.newEncoder();
        final CharsetDecoder validator = StandardCharsets.UTF_8.newDecoder();
        final CharBuffer characters = CharBuffer.allocate(PIECE_CHARACTERS);
        final byte[] bytes = new byte[PIECE_CHARACTERS * BYTES_PER_CHARACTER];
        final ByteBuffer converted = ByteBuffer.wrap(bytes);

        Pieces() {
            target.onMalformedInput(CodingErrorAction.REPLACE);
            target.onUnmappableCharacter(CodingErrorAction.REPLACE);
        }
    }

    TextConverter(SourceEncoding encoding, PolicyCounts counts) {
        this.utf8 = encoding.isUtf8();
        Charset charset = encoding.charset();
        this.source = charset == null ? null : charset.newDecoder();
        this.counts = counts;
    }

    /**
     * Appends the text as UTF-8.
     *
     * @return false if bytes had to be replaced, so that the result is not unique to its source
     * @throws ByteBuilder.FullException if the column cannot hold it; it is unchanged
     */
    boolean append(byte[] bytes, int offset, int length, StringColumn out) {
        if (utf8 || isAscii(bytes, offset, length)) {
            out.append(bytes, offset, length);
            return true;
        }
        ByteBuffer text = ByteBuffer.wrap(bytes, offset, length);
        CharsetDecoder decoder = source;
        if (decoder == null) {
            Pieces pieces = Pieces.OWN.get();
            if (convert(pieces.validator, pieces, text, Integer.MAX_VALUE, null) == MALFORMED) {
                counts.add(Policy.INVALID_TEXT);
            }
            out.append(bytes, offset, length);
            return true;
        }
        boolean valid = append(decoder, text, Integer.MAX_VALUE, out);
        if (!valid) {
            counts.add(Policy.INVALID_TEXT);
            appendReplacing(decoder, text, Integer.MAX_VALUE, out);
        }
        return valid;
    }

    /**
     * Appends the first {@code most} characters of a text of which at least that many are there;
     * its last character may be cut off.
     */
    void appendCut(byte[] bytes, int length, int most, StringColumn out) {
        CharsetDecoder decoder = source;
        if (decoder == null) {
            out.append(bytes, 0, end(bytes, length, most));
        } else {
            appendReplacing(decoder, ByteBuffer.wrap(bytes, 0, length), most, out);
        }
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

    private void appendReplacing(
            CharsetDecoder decoder, ByteBuffer text, int most, StringColumn out) {
        decoder.onMalformedInput(CodingErrorAction.REPLACE);
        decoder.onUnmappableCharacter(CodingErrorAction.REPLACE);
        try {
            append(decoder, text, most, out);
        } finally {
            decoder.onMalformedInput(CodingErrorAction.REPORT);
            decoder.onUnmappableCharacter(CodingErrorAction.REPORT);
        }
    }

    /** False, with nothing appended, if the decoder reports bytes that do not belong. */
    private boolean append(CharsetDecoder decoder, ByteBuffer text, int most, StringColumn out) {
        Pieces pieces = Pieces.OWN.get();
        long length = convert(decoder, pieces, text, most, null);
        if (length == MALFORMED) {
            return false;
        }
        ByteBuilder body = out.begin(length);
        if (length == pieces.converted.position()) {
            body.putBytes(pieces.bytes, 0, (int) length); // it was one piece
        } else {
            convert(decoder, pieces, text, most, body);
        }
        return true;
    }

    /**
     * Converts piece by piece; the last one stays in {@link Pieces#converted}.
     *
     * @param most characters
     * @param out null: only the length is wanted
     * @return bytes in UTF-8, or {@link #MALFORMED} where the decoder reports
     */
    private static long convert(
            CharsetDecoder decoder,
            Pieces pieces,
            ByteBuffer text,
            int most,
            @Nullable ByteBuilder out) {
        CharBuffer characters = pieces.characters;
        ByteBuffer converted = pieces.converted;
        ByteBuffer in = text.duplicate();
        decoder.reset();
        characters.clear();
        converted.clear();
        long length = 0;
        int left = most;
        boolean last = false;
        while (!last && left > 0) {
            CoderResult result = decoder.decode(in, characters, true);
            if (result.isUnderflow()) {
                result = decoder.flush(characters);
            }
            if (result.isError()) {
                return MALFORMED;
            }
            last = result.isUnderflow();
            characters.flip();
            left -= encode(pieces, left, last);
            characters.compact();
            length += converted.position();
            if (out != null) {
                out.putBytes(pieces.bytes, 0, converted.position());
            }
        }
        return length;
    }

    /**
     * Fills {@link Pieces#converted} with at most so many characters; returns how many they are.
     */
    private static int encode(Pieces pieces, int most, boolean last) {
        CharBuffer characters = pieces.characters;
        int limit = characters.limit();
        int end = limit;
        if (!last && end > 0 && Character.isHighSurrogate(characters.get(end - 1))) {
            end--; // its other half is in the next piece
        }
        int count = Character.codePointCount(characters, 0, end);
        if (count > most) {
            end = Character.offsetByCodePoints(characters, 0, most);
            count = most;
        }
        pieces.converted.clear();
        characters.limit(end);
        pieces.target.reset();
        pieces.target.encode(characters, pieces.converted, true);
        pieces.target.flush(pieces.converted);
        characters.limit(limit);
        return count;
    }
}
