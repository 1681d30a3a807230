/** The {@code walshadow} command: one class per subcommand, {@code Main} registers them. */
@NullMarked
package dev.walshadow.cli;

import org.jspecify.annotations.NullMarked;
