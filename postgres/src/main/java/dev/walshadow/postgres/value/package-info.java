/**
 * The values inside tuples: varlena headers, TOAST pointers and compression, and one codec per type
 * from on-disk bytes to PostgreSQL's own output text or to numbers. The text is what the type's
 * output function prints with {@code DateStyle = ISO}, {@code IntervalStyle = postgres}, {@code
 * TimeZone = UTC}, {@code extra_float_digits = 1}, {@code bytea_output = hex}, {@code lc_monetary =
 * C}. Every read is bounds-checked: malformed bytes give a {@link
 * dev.walshadow.base.QuarantineException}. Knows neither tuples nor catalogs.
 */
@NullMarked
package dev.walshadow.postgres.value;

import org.jspecify.annotations.NullMarked;
