/**
 * The demo: real servers, a small shop with existing rows, a mixed load, a live view, and the
 * comparison of both sides at the end. Knows the daemon only through its public face.
 */
@NullMarked
package dev.walshadow.cli.demo;

import org.jspecify.annotations.NullMarked;
