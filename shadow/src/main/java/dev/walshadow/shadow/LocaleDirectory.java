package dev.walshadow.shadow;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.FileTree;
import dev.walshadow.base.SystemCommands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Stand-ins for locales of the source's databases that this host lacks. Connections to such a
 * database would be refused. Catalogs are sorted by the C collation, so any locale serves for
 * reading them: a folder is made in which each wanted name holds a copy of the host's C.UTF-8, and
 * the server is started with {@code LOCPATH} naming it. With LOCPATH set glibc looks nowhere else,
 * so the folder then holds all wanted names, those that the host knows too.
 */
final class LocaleDirectory {
    private static final List<String> BUILT_IN = List.of("", "C", "POSIX");
    private static final List<Path> PROTOTYPES =
            List.of(Path.of("/usr/lib/locale/C.utf8"), Path.of("/usr/lib/locale/C.UTF-8"));

    private LocaleDirectory() {}

    /** The value of LOCPATH, or null when the host knows all the names. */
    static @Nullable Path prepare(Set<String> wanted, Path directory, ServerUser user)
            throws IOException {
        Set<String> names = new HashSet<>(wanted);
        BUILT_IN.forEach(names::remove);
        if (names.isEmpty() || hostKnows(names)) {
            return null;
        }
        Path prototype =
                PROTOTYPES.stream()
                        .filter(Files::isDirectory)
                        .findFirst()
                        .orElseThrow(() -> missing(names));
        for (String name : names) {
            if (name.indexOf('/') < 0) {
                copy(prototype, directory.resolve(name));
                copy(prototype, directory.resolve(normalized(name)));
            }
        }
        user.ownTree(directory);
        return directory;
    }

    private static boolean hostKnows(Set<String> names) {
        if (SystemCommands.find("locale").isEmpty()) {
            // Without glibc's tools it is not glibc: musl takes every name.
            return true;
        }
        Set<String> known = new HashSet<>();
        SystemCommands.run(List.of("locale", "-a"))
                .output()
                .lines()
                .forEach(line -> known.add(normalized(line.strip())));
        return names.stream().allMatch(name -> known.contains(normalized(name)));
    }

    /** As glibc compares: the codeset in lower case, without punctuation. */
    static String normalized(String name) {
        int dot = name.indexOf('.');
        if (dot < 0) {
            return name;
        }
        int at = name.indexOf('@', dot);
        String codeset = name.substring(dot + 1, at < 0 ? name.length() : at);
        return name.substring(0, dot + 1)
                + codeset.replaceAll("[^A-Za-z0-9]", "").toLowerCase(Locale.ROOT)
                + (at < 0 ? "" : name.substring(at));
    }

    private static ConfigurationException missing(Set<String> names) {
        return new ConfigurationException(
                ShadowCodes.LOCALE,
                "the source's databases use locales "
                        + names
                        + " that this host lacks, and it has no C.UTF-8 to stand in for them ("
                        + PROTOTYPES
                        + "); install the locales here");
    }

    private static void copy(Path from, Path to) throws IOException {
        if (!Files.exists(to)) {
            FileTree.copy(from, to, file -> true);
        }
    }
}
