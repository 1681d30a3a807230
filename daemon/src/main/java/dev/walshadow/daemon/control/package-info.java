/**
 * The control socket: JSON lines on {@code run/control.sock}. One request object a line, answered
 * by one object a line ({@code "ok"}, else {@code "error"}). Knows nothing of what it controls.
 */
@NullMarked
package dev.walshadow.daemon.control;

import org.jspecify.annotations.NullMarked;
