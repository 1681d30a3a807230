/**
 * The ClickHouse engine's own process: libchdb through {@code java.lang.foreign}, and before it a
 * small HTTP front that speaks ClickHouse's HTTP interface, so that the product's only client path
 * is the one that real servers get.
 *
 * <p>Main types: {@link dev.walshadow.embedded.engine.EngineServer} (the process), {@link
 * dev.walshadow.embedded.engine.Engine} and {@link dev.walshadow.embedded.engine.EngineConnection}
 * (the library). The rest of walshadow starts it through {@code EmbeddedClickHouse}.
 */
@NullMarked
package dev.walshadow.embedded.engine;

import org.jspecify.annotations.NullMarked;
