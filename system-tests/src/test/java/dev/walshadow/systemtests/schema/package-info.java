/**
 * Every change of the source's catalogs that a user can make, as a table of cases, and the runner
 * that puts them before the product: {@link dev.walshadow.systemtests.schema.SchemaChangeTest}.
 */
@org.jspecify.annotations.NullMarked
package dev.walshadow.systemtests.schema;
