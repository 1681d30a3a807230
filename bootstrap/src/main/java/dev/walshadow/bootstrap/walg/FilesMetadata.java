package dev.walshadow.bootstrap.walg;

import dev.walshadow.source.store.ReadObject;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.databind.json.JsonMapper;

/**
 * What {@code <name>/files_metadata.json} says. It names every file of the database, a gigabyte of
 * text at times, so it is read as a stream and only what is wanted is kept. After {@code
 * FilesMetadataDto} and {@code BackupFileDescription} of wal-g.
 *
 * @param files by path without a slash in front; those wanted only
 * @param archives names of the tar partitions that have files
 */
record FilesMetadata(Map<String, Kind> files, Set<String> archives) {
    /** How a file is in this backup. */
    enum Kind {
        /** All of it. */
        WHOLE,
        /** Pages that changed since the backup before. */
        INCREMENT,
        /** As in the backup before. */
        UNCHANGED
    }

    /** Closes the object. */
    static FilesMetadata read(JsonMapper json, ReadObject object, Predicate<String> wanted) {
        Map<String, Kind> files = new HashMap<>();
        Set<String> archives = new HashSet<>();
        try (object;
                JsonParser parser = json.createParser(object)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw object.damaged("expected a JSON object");
            }
            while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
                String field = parser.currentName();
                JsonToken value = parser.nextToken();
                if (field.equals("Files") && value == JsonToken.START_OBJECT) {
                    readFiles(parser, wanted, files);
                } else if (field.equals("TarFileSets") && value == JsonToken.START_OBJECT) {
                    readArchives(parser, archives);
                } else {
                    parser.skipChildren();
                }
            }
            if (parser.currentToken() != JsonToken.END_OBJECT) {
                throw object.damaged("the JSON object has no end");
            }
        } catch (JacksonException e) {
            throw object.damaged("it is no JSON: " + e.getOriginalMessage());
        }
        return new FilesMetadata(files, archives);
    }

    private static void readFiles(
            JsonParser parser, Predicate<String> wanted, Map<String, Kind> into) {
        while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
            String path = Paths.relative(parser.currentName());
            boolean incremented = false;
            boolean skipped = false;
            if (parser.nextToken() == JsonToken.START_OBJECT) {
                while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
                    String field = parser.currentName();
                    JsonToken value = parser.nextToken();
                    incremented |= field.equals("IsIncremented") && isTrue(value);
                    skipped |= field.equals("IsSkipped") && isTrue(value);
                    parser.skipChildren();
                }
            }
            if (wanted.test(path)) {
                into.put(
                        path, skipped ? Kind.UNCHANGED : incremented ? Kind.INCREMENT : Kind.WHOLE);
            }
        }
    }

    private static boolean isTrue(@Nullable JsonToken value) {
        return value == JsonToken.VALUE_TRUE;
    }

    private static void readArchives(JsonParser parser, Set<String> into) {
        while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
            into.add(parser.currentName());
            parser.nextToken();
            parser.skipChildren();
        }
    }
}
