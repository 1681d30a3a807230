package dev.walshadow.pipeline.encode;

/** A source database's encoding. */
public final class SourceEncoding {
    public static final SourceEncoding UTF8 = new SourceEncoding("UTF8");

    private final String name;

    private SourceEncoding(String name) {
        this.name = name;
    }

    /** By PostgreSQL's name ({@code pg_encoding_to_char(encoding)}), e.g. UTF8, LATIN1. */
    public static SourceEncoding named(String name) {
        return new SourceEncoding(name);
    }

    public String name() {
        return name;
    }
}
