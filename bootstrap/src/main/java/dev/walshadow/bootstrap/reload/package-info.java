/**
 * One table's rows, read from the source by COPY and given to the pipeline in the form that rows of
 * the base backup have ({@link dev.walshadow.bootstrap.reload.TableLoad}, {@link
 * dev.walshadow.bootstrap.reload.LoadShape}). When to load, where the rows go and what happens to
 * them then is the caller's. Reasoning: {@code docs/reload.md}.
 */
@NullMarked
package dev.walshadow.bootstrap.reload;

import org.jspecify.annotations.NullMarked;
