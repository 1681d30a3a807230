package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.pipeline.mapping.MappingCodes;
import dev.walshadow.postgres.value.DatumRenderer;
import java.nio.charset.Charset;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A source database's encoding, by PostgreSQL's name. UTF8 text passes as it is, since PostgreSQL
 * has validated it; so does SQL_ASCII text, which has no known encoding. Everything else is decoded
 * with the JDK's charset. Source of the names: {@code src/common/encnames.c}. Immutable.
 */
public final class SourceEncoding {
    private static final Map<String, String> CHARSETS =
            Map.ofEntries(
                    Map.entry("EUC_JP", "EUC-JP"),
                    Map.entry("EUC_CN", "GB2312"),
                    Map.entry("EUC_KR", "EUC-KR"),
                    Map.entry("EUC_TW", "x-EUC-TW"),
                    Map.entry("LATIN1", "ISO-8859-1"),
                    Map.entry("LATIN2", "ISO-8859-2"),
                    Map.entry("LATIN3", "ISO-8859-3"),
                    Map.entry("LATIN4", "ISO-8859-4"),
                    Map.entry("LATIN5", "ISO-8859-9"),
                    Map.entry("LATIN7", "ISO-8859-13"),
                    Map.entry("LATIN9", "ISO-8859-15"),
                    Map.entry("LATIN10", "ISO-8859-16"),
                    Map.entry("ISO_8859_5", "ISO-8859-5"),
                    Map.entry("ISO_8859_6", "ISO-8859-6"),
                    Map.entry("ISO_8859_7", "ISO-8859-7"),
                    Map.entry("ISO_8859_8", "ISO-8859-8"),
                    Map.entry("WIN1250", "windows-1250"),
                    Map.entry("WIN1251", "windows-1251"),
                    Map.entry("WIN1252", "windows-1252"),
                    Map.entry("WIN1253", "windows-1253"),
                    Map.entry("WIN1254", "windows-1254"),
                    Map.entry("WIN1255", "windows-1255"),
                    Map.entry("WIN1256", "windows-1256"),
                    Map.entry("WIN1257", "windows-1257"),
                    Map.entry("WIN1258", "windows-1258"),
                    Map.entry("WIN866", "IBM866"),
                    Map.entry("WIN874", "x-windows-874"),
                    Map.entry("KOI8R", "KOI8-R"),
                    Map.entry("KOI8U", "KOI8-U"));

    private static final Set<String> PASSED = Set.of("UTF8", "SQL_ASCII");

    public static final SourceEncoding UTF8 = new SourceEncoding("UTF8", null, DatumRenderer.NONE);

    private final String name;
    private final @Nullable Charset charset;
    private final DatumRenderer renderer;

    private SourceEncoding(String name, @Nullable Charset charset, DatumRenderer renderer) {
        this.name = name;
        this.charset = charset;
        this.renderer = renderer;
    }

    /**
     * By PostgreSQL's name ({@code pg_encoding_to_char(encoding)}), e.g. UTF8, LATIN1.
     *
     * @throws ConfigurationException if the JDK has no such charset
     */
    public static SourceEncoding named(String name) {
        String upper = name.toUpperCase(Locale.ROOT);
        if (PASSED.contains(upper)) {
            return new SourceEncoding(upper, null, DatumRenderer.NONE);
        }
        String charset = CHARSETS.get(upper);
        if (charset == null || !Charset.isSupported(charset)) {
            throw new ConfigurationException(
                    MappingCodes.VALUE,
                    "the source database's encoding is "
                            + name
                            + ", which cannot be converted to UTF-8 here; expected UTF8, SQL_ASCII"
                            + " or one of "
                            + String.join(", ", CHARSETS.keySet().stream().sorted().toList()));
        }
        return new SourceEncoding(upper, Charset.forName(charset), DatumRenderer.NONE);
    }

    /** The same, where what no codec knows is printed by {@code other}, in this encoding. */
    public SourceEncoding withRenderer(DatumRenderer other) {
        return new SourceEncoding(name, charset, other);
    }

    DatumRenderer renderer() {
        return renderer;
    }

    public String name() {
        return name;
    }

    /** Null where bytes pass as they are. */
    @Nullable Charset charset() {
        return charset;
    }

    boolean isUtf8() {
        return name.equals("UTF8");
    }
}
