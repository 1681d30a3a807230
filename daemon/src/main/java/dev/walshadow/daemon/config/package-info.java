/**
 * The configuration: every setting with its key, kind, default and meaning in one list ({@link
 * dev.walshadow.daemon.config.Settings}); layers of defaults, TOML file, environment and flags
 * ({@link dev.walshadow.daemon.config.ConfigurationLoader}). Opens no connection.
 */
@NullMarked
package dev.walshadow.daemon.config;

import org.jspecify.annotations.NullMarked;
