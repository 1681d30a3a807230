/**
 * The state directory: who owns it ({@link dev.walshadow.daemon.state.StateDirectory}) and how far
 * the stream is durable ({@link dev.walshadow.daemon.state.Manifest}). Knows no server.
 */
@NullMarked
package dev.walshadow.daemon.state;

import org.jspecify.annotations.NullMarked;
