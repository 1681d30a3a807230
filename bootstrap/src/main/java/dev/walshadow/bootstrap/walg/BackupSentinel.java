package dev.walshadow.bootstrap.walg;

import dev.walshadow.source.store.ReadObject;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.databind.json.JsonMapper;

/**
 * What {@code basebackups_005/<name>_backup_stop_sentinel.json} says, which wal-g writes when a
 * backup is complete. After {@code BackupSentinelDto} in wal-g's {@code backup_sentinel_dto.go}.
 *
 * @param startLsn B, the redo point
 * @param endLsn E
 * @param pgVersion as {@code server_version_num} has it
 * @param systemIdentifier 0 if wal-g did not note it
 * @param deltaFrom the backup that this one only has the changes since; null: it is a full one
 * @param filesDescribed whether there is a {@code files_metadata.json}
 */
record BackupSentinel(
        String name,
        long startLsn,
        long endLsn,
        int timeline,
        int pgVersion,
        long systemIdentifier,
        @Nullable String deltaFrom,
        boolean filesDescribed) {
    private static final Pattern NAME = Pattern.compile("base_([0-9A-F]{8})[0-9A-F]{16}.*");
    private static final int VERSION_PER_MAJOR = 10_000;

    int major() {
        return pgVersion / VERSION_PER_MAJOR;
    }

    /** Closes the object. Old wal-g put the list of all files here, too: it is read over. */
    static BackupSentinel read(String name, JsonMapper json, ReadObject object) {
        try (object;
                JsonParser parser = json.createParser(object)) {
            return new Fields().read(name, parser, object);
        } catch (JacksonException e) {
            throw object.damaged("it is no JSON: " + e.getOriginalMessage());
        }
    }

    /** What has been found so far. */
    private static final class Fields {
        private long startLsn;
        private long endLsn;
        private long timeline;
        private long pgVersion;
        private long systemIdentifier;
        private @Nullable String deltaFrom;
        private boolean disabled;
        private long layout;

        private BackupSentinel read(String name, JsonParser parser, ReadObject object) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw object.damaged("expected a JSON object");
            }
            while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
                String field = parser.currentName();
                take(field, parser.nextToken(), parser, object);
            }
            if (parser.currentToken() != JsonToken.END_OBJECT) {
                throw object.damaged("the JSON object has no end");
            }
            if (startLsn <= 0 || endLsn < startLsn) {
                throw object.damaged(
                        "expected positions LSN and FinishLSN, found "
                                + startLsn
                                + " and "
                                + endLsn);
            }
            return new BackupSentinel(
                    name,
                    startLsn,
                    endLsn,
                    timelineOf(name, object),
                    (int) pgVersion,
                    systemIdentifier,
                    deltaFrom,
                    !disabled && layout >= 2);
        }

        private void take(
                String field, @Nullable JsonToken value, JsonParser parser, ReadObject object) {
            switch (field) {
                case "LSN" -> startLsn = number(field, value, parser, object);
                case "FinishLSN" -> endLsn = number(field, value, parser, object);
                case "Timeline" -> timeline = number(field, value, parser, object);
                case "PgVersion" -> pgVersion = number(field, value, parser, object);
                case "SystemIdentifier" -> systemIdentifier = number(field, value, parser, object);
                case "Version" -> layout = number(field, value, parser, object);
                case "FilesMetadataDisabled" -> disabled = value == JsonToken.VALUE_TRUE;
                case "DeltaFrom" -> {
                    if (value == JsonToken.VALUE_STRING) {
                        deltaFrom = parser.getString();
                    }
                }
                default -> parser.skipChildren();
            }
        }

        /** Unsigned, of 64 bits; 0 for null. */
        private static long number(
                String field, @Nullable JsonToken value, JsonParser parser, ReadObject object) {
            if (value == JsonToken.VALUE_NULL) {
                return 0;
            }
            if (value != JsonToken.VALUE_NUMBER_INT
                    || parser.getBigIntegerValue().bitLength() > Long.SIZE) {
                throw object.damaged("expected a number in " + field);
            }
            return parser.getBigIntegerValue().longValue();
        }

        /** Old sentinels do not say it; the name always does. */
        private int timelineOf(String name, ReadObject object) {
            if (timeline != 0) {
                return (int) timeline;
            }
            Matcher parts = NAME.matcher(name);
            if (!parts.matches()) {
                throw object.damaged("neither it nor its name says the timeline");
            }
            return Integer.parseUnsignedInt(parts.group(1), 16);
        }
    }
}
