/**
 * The daemon: state directory, manifest, preflight, control socket, metrics and the one place where
 * all parts are plugged together ({@link dev.walshadow.daemon.Daemon}).
 */
@NullMarked
package dev.walshadow.daemon;

import org.jspecify.annotations.NullMarked;
