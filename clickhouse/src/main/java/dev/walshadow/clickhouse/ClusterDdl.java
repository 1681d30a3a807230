package dev.walshadow.clickhouse;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * DDL of one server as DDL of a cluster: {@code ON CLUSTER} at its place and the replicated engine
 * of the same family. It reads what {@link Ddl} and its users write, where every identifier stands
 * in backticks; everything else is left as it is. In one place, so that no statement can be
 * forgotten.
 */
final class ClusterDdl {
    private static final String NAME = "`(?:[^`\\\\]|\\\\.)*+`(?:\\.`(?:[^`\\\\]|\\\\.)*+`)?+";

    /** The clause follows the name. */
    private static final Pattern AFTER_NAME =
            Pattern.compile(
                    "\\A(?:CREATE (?:DATABASE|TABLE|VIEW)(?: IF NOT EXISTS)?"
                            + "|CREATE OR REPLACE (?:TABLE|VIEW)"
                            + "|DROP (?:DATABASE|TABLE|VIEW)(?: IF EXISTS)?"
                            + "|TRUNCATE TABLE(?: IF EXISTS)?"
                            + "|ALTER TABLE) "
                            + NAME);

    /** The clause stands at the end. */
    private static final Pattern AT_END =
            Pattern.compile(
                    "\\A(?:RENAME TABLE "
                            + NAME
                            + " TO "
                            + NAME
                            + "|EXCHANGE TABLES "
                            + NAME
                            + " AND "
                            + NAME
                            + ")\\z");

    private static final Pattern ENGINE =
            Pattern.compile("(?<=[\\s)]ENGINE = )(?=(?:Replacing)?MergeTree\\b)");

    /** What changes tables, and so must have been recognised. */
    private static final List<String> CHANGING =
            List.of("CREATE ", "DROP ", "TRUNCATE ", "ALTER ", "RENAME ", "EXCHANGE ");

    private ClusterDdl() {}

    /**
     * @throws IllegalArgumentException for DDL in a form that is not known here
     */
    static String spread(String sql, String cluster) {
        String clause = " ON CLUSTER " + Ddl.identifier(cluster);
        Matcher name = AFTER_NAME.matcher(sql);
        if (name.find()) {
            String rest = sql.substring(name.end());
            if (sql.startsWith("CREATE TABLE")) {
                rest = replicated(rest);
            }
            return name.group() + clause + rest;
        }
        if (AT_END.matcher(sql).matches()) {
            return sql + clause;
        }
        if (CHANGING.stream().anyMatch(sql::startsWith)) {
            throw new IllegalArgumentException("no form for a cluster: " + sql);
        }
        return sql;
    }

    /** The last ENGINE of the text: a default expression before it may have the word in it. */
    private static String replicated(String rest) {
        Matcher engine = ENGINE.matcher(rest);
        int last = -1;
        while (engine.find()) {
            last = engine.start();
        }
        return last < 0 ? rest : rest.substring(0, last) + "Replicated" + rest.substring(last);
    }
}
