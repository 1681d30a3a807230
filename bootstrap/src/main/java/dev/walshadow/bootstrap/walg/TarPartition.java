package dev.walshadow.bootstrap.walg;

import dev.walshadow.source.store.Compression;
import dev.walshadow.source.store.ObjectStore.StoredObject;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** One of the archives that a backup's files are spread over. */
record TarPartition(StoredObject object, Compression compression) {
    private static final Pattern NAME = Pattern.compile("(.*)\\.tar(?:\\.([a-z0-9]+))?");

    /** Null if its name is not that of a tar archive, or its compression is unknown. */
    static @Nullable TarPartition of(StoredObject object) {
        Matcher parts = NAME.matcher(object.name());
        if (!parts.matches()) {
            return null;
        }
        String extension = parts.group(2);
        return Compression.ofExtension(extension == null ? "" : extension)
                .map(found -> new TarPartition(object, found))
                .orElse(null);
    }

    /** wal-g puts pg_control into an archive of its own, to be unpacked last. */
    boolean isControl() {
        return fileName().startsWith("pg_control.tar");
    }

    String fileName() {
        return object.name().substring(object.name().lastIndexOf('/') + 1);
    }
}
