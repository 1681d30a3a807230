package dev.walshadow.daemon.state;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.DurableFiles;
import dev.walshadow.daemon.DaemonCodes;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.dataformat.toml.TomlMapper;

/**
 * A small durable file (I11) that people can read: TOML with a {@code version}, whose last line is
 * the checksum of everything before it.
 */
final class SealedToml {
    private static final TomlMapper TOML = new TomlMapper();
    private static final Pattern SEAL = Pattern.compile("checksum = \"([0-9a-f]{8})\"\\s*\\z");

    private SealedToml() {}

    static void write(Path file, String body) throws IOException {
        String sealed = body + "checksum = \"" + checksum(body) + "\"\n";
        DurableFiles.replace(file, sealed.getBytes(StandardCharsets.UTF_8));
    }

    /** Empty if the file does not exist; anything torn, edited or of a newer version is refused. */
    static <T> Optional<T> read(Path file, int newestVersion, Function<JsonNode, T> parse) {
        if (!Files.exists(file)) {
            return Optional.empty();
        }
        try {
            String text = Files.readString(file);
            Matcher seal = SEAL.matcher(text);
            if (!seal.find() || !checksum(text.substring(0, seal.start())).equals(seal.group(1))) {
                throw torn(file, "its checksum does not match its content", null);
            }
            JsonNode root = TOML.readTree(text);
            int version = root.path("version").asInt(0);
            if (version > newestVersion) {
                throw new ConfigurationException(
                        DaemonCodes.STATE_FOREIGN,
                        file
                                + " has version "
                                + version
                                + ", this walshadow reads up to "
                                + newestVersion
                                + "; start the newer walshadow that wrote it");
            }
            return Optional.of(parse.apply(root));
        } catch (CharacterCodingException e) {
            throw torn(file, "it is not UTF-8 text", e);
        } catch (JacksonException e) {
            throw torn(file, e.getOriginalMessage(), e);
        } catch (IllegalArgumentException | IOException e) {
            throw torn(file, String.valueOf(e.getMessage()), e);
        }
    }

    /** Appends any text as TOML's basic string. */
    static void text(StringBuilder body, String value) {
        body.append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '"' || c == '\\') {
                body.append('\\').append(c);
            } else if (c < ' ' || c == 0x7f) {
                body.append(String.format(Locale.ROOT, "\\u%04X", (int) c));
            } else {
                body.append(c);
            }
        }
        body.append('"');
    }

    /** Refuses the file of a state directory that belongs to another source. */
    static void requireOwner(JsonNode root, Path file, long systemIdentifier) {
        String owner = root.path("system_identifier").asString("");
        if (!owner.equals(Long.toUnsignedString(systemIdentifier))) {
            throw new ConfigurationException(
                    DaemonCodes.STATE_FOREIGN,
                    file
                            + " belongs to the source with system identifier "
                            + owner
                            + ", the configured source has "
                            + Long.toUnsignedString(systemIdentifier)
                            + "; give this source a [state] dir of its own");
        }
    }

    private static ConfigurationException torn(Path file, String why, @Nullable Throwable cause) {
        return new ConfigurationException(
                DaemonCodes.STATE_TORN,
                "the file "
                        + file
                        + " is damaged: "
                        + why
                        + "; restore it from a copy, or attach"
                        + " anew with an empty [state] dir. Nothing was changed",
                cause);
    }

    private static String checksum(String body) {
        CRC32C crc = new CRC32C();
        crc.update(body.getBytes(StandardCharsets.UTF_8));
        return String.format(Locale.ROOT, "%08x", crc.getValue());
    }
}
