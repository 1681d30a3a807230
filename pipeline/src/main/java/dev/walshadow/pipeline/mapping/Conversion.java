package dev.walshadow.pipeline.mapping;

/**
 * How a stored datum becomes a ClickHouse value. Pinned with the mapping by name: constants may be
 * added, never renamed or given another meaning.
 */
public enum Conversion {
    BOOL,
    INT16,
    INT32,
    INT64,
    UINT32,
    UINT64,
    FLOAT32,
    FLOAT64,
    /** numeric to Decimal. */
    DECIMAL,
    /** money (hundredths) to Decimal(19, 2). */
    MONEY,
    UUID,
    /** date to Date32. */
    DATE32,
    /** timestamp, timestamptz to DateTime64. */
    DATETIME64,
    /** time to Time64. */
    TIME64,
    /** A varlena's payload as it is. */
    BYTES,
    /** A varlena's payload, converted from the database's encoding to UTF-8. */
    CHARACTERS,
    /** type name: up to the first zero byte, converted to UTF-8. */
    NAME,
    /** What PostgreSQL's output function prints, in UTF-8. */
    TEXT,
    /** An enum's label OID to its number in Enum16. */
    ENUM,
    /** hstore to Map(String, Nullable(String)). */
    HSTORE,
    /** vector to Array(Float32). */
    VECTOR,
    /** halfvec to Array(Float32). */
    HALFVEC,
    /** A whole array as array_out prints it, in UTF-8. */
    ARRAY_TEXT,
    /** The stored bytes of a type that nothing here can print, as bytea shows bytes. */
    HEX
}
