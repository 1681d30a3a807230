package dev.walshadow.pipeline.mapping;

/**
 * The number under which an enum's label is stored in ClickHouse. Given once per label OID and
 * never to another label, so that a rename renames what is stored.
 *
 * @param labelOid pg_enum.oid, what a PostgreSQL value is
 * @param label its name now
 * @param number of the Enum16, from 1
 */
public record EnumNumber(int labelOid, String label, int number) {}
