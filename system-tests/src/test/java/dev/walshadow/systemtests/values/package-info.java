/**
 * Every type's values through the running product: generated on a real source, loaded, streamed,
 * updated and loaded anew, and compared with PostgreSQL's own text.
 */
@NullMarked
package dev.walshadow.systemtests.values;

import org.jspecify.annotations.NullMarked;
