package dev.walshadow.daemon.config;

import dev.walshadow.pipeline.ViewNames;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * How a setting's text becomes a value. Parsers throw IllegalArgumentException with what was
 * expected.
 *
 * @param expected what the text must look like, for messages and the docs
 * @param secret never printed
 */
public record Kind<T>(
        String expected, boolean list, boolean secret, Function<List<String>, T> parser) {
    private static final Pattern PASSWORD_IN_URL = Pattern.compile("(://[^:/@?]*):.*@");
    private static final Pattern PASSWORD_IN_QUERY =
            Pattern.compile("([?&](?:ssl)?password=)[^&]*");
    private static final Pattern QUANTITY = Pattern.compile("(\\d{1,15})\\s*([a-zA-Z]*)");

    public static final Kind<String> TEXT = single("text", text -> text);
    public static final Kind<String> SECRET =
            new Kind<>("text", false, true, texts -> texts.getFirst());
    public static final Kind<Path> PATH = single("a path", Kind::path);
    public static final Kind<Boolean> BOOLEAN = single("true or false", Kind::bool);
    public static final Kind<Long> BYTES =
            single("bytes: a number with B, kB, MB or GB (powers of 1024)", Kind::bytes);
    public static final Kind<Duration> DURATION =
            single("a duration: a number with ms, s, min or h", Kind::duration);
    public static final Kind<InetSocketAddress> ADDRESS = single("host:port", Kind::address);
    public static final Kind<List<String>> TEXTS =
            new Kind<>("a list of texts", true, false, List::copyOf);

    public static Kind<Integer> integer(int least, int most) {
        return single(
                "a whole number from " + least + " to " + most,
                text -> {
                    int value = Integer.parseInt(text);
                    if (value < least || value > most) {
                        throw new IllegalArgumentException("out of range");
                    }
                    return value;
                });
    }

    /** Bytes in a second, 0 for no limit; expected as PostgreSQL expects MAX_RATE. */
    public static Kind<Long> rate(long least, long most) {
        return single(
                "bytes in a second, from " + bytesText(least) + " to " + bytesText(most) + ", or 0",
                text -> {
                    long value = bytes(text);
                    if (value != 0 && (value < least || value > most)) {
                        throw new IllegalArgumentException("out of range");
                    }
                    return value;
                });
    }

    public static Kind<String> oneOf(String... words) {
        return single(
                "one of " + String.join(", ", words),
                text -> {
                    if (!Arrays.asList(words).contains(text)) {
                        throw new IllegalArgumentException("not one of these");
                    }
                    return text;
                });
    }

    /** Some of these words, or none. */
    public static Kind<List<String>> someOf(List<String> words) {
        return new Kind<>(
                "a list of " + String.join(", ", words),
                true,
                false,
                texts -> {
                    if (!words.containsAll(texts)) {
                        throw new IllegalArgumentException("not all are of these");
                    }
                    return List.copyOf(texts);
                });
    }

    public static final Kind<String> HTTP_URL =
            single(
                    "http://host:port/path, or https",
                    text -> {
                        URI uri = URI.create(text);
                        if (uri.getHost() == null
                                || !List.of("http", "https").contains(uri.getScheme())) {
                            throw new IllegalArgumentException("no such address");
                        }
                        return text;
                    });

    /**
     * Addresses that may have commas of their own: a part without a scheme belongs to the one
     * before it.
     */
    public static Kind<List<String>> urls() {
        return new Kind<>(
                "a list of http://host:8123",
                true,
                true,
                texts ->
                        texts.isEmpty()
                                ? List.of()
                                : List.of(String.join(",", texts).split("\\s*,\\s*(?=\\w+://)")));
    }

    /** How views are called. */
    public static Kind<String> viewNames() {
        return single(ViewNames.EXPECTED, text -> new ViewNames(text).pattern());
    }

    /** {@code auto} or a number of replicas. */
    public static Kind<String> quorum() {
        return single(
                "auto, or a whole number from 0 to 100",
                text -> {
                    if (!text.equals("auto")) {
                        integer(0, 100).parse(List.of(text));
                    }
                    return text;
                });
    }

    public T parse(List<String> texts) {
        if (!list && texts.size() != 1) {
            throw new IllegalArgumentException("a list where one value is expected");
        }
        return parser.apply(texts);
    }

    /** A parsed value as one would write it; passwords are masked. */
    String show(Object parsed) {
        String text =
                switch (parsed) {
                    case Duration duration -> durationText(duration);
                    case Long bytes -> bytesText(bytes);
                    case InetSocketAddress at -> at.getHostString() + ":" + at.getPort();
                    case List<?> texts ->
                            texts.stream().map(String::valueOf).collect(Collectors.joining(", "));
                    default -> parsed.toString();
                };
        if (!secret || text.isEmpty()) {
            return text;
        }
        return parsed instanceof List<?> texts
                ? texts.stream()
                        .map(each -> masked(String.valueOf(each)))
                        .collect(Collectors.joining(", "))
                : masked(text);
    }

    private static String masked(String text) {
        return text.contains("://")
                ? PASSWORD_IN_QUERY
                        .matcher(PASSWORD_IN_URL.matcher(text).replaceFirst("$1:***@"))
                        .replaceAll("$1***")
                : "***";
    }

    private static String durationText(Duration duration) {
        long millis = duration.toMillis();
        if (millis % 1_000 != 0) {
            return millis + "ms";
        }
        return millis % 60_000 == 0 && millis > 0 ? millis / 60_000 + "min" : millis / 1_000 + "s";
    }

    private static String bytesText(long bytes) {
        for (int unit = 3; unit > 0; unit--) {
            if (bytes > 0 && bytes % (1L << (10 * unit)) == 0) {
                return (bytes >> (10 * unit)) + List.of("kB", "MB", "GB").get(unit - 1);
            }
        }
        return bytes + "B";
    }

    private static <T> Kind<T> single(String expected, Function<String, T> parser) {
        return new Kind<>(expected, false, false, texts -> parser.apply(texts.getFirst()));
    }

    private static Path path(String text) {
        if (text.isBlank()) {
            throw new IllegalArgumentException("empty");
        }
        try {
            return Path.of(text);
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException(e.getReason(), e);
        }
    }

    /** Not resolved yet. */
    private static InetSocketAddress address(String text) {
        int colon = text.lastIndexOf(':');
        String host = colon < 0 ? "" : text.substring(0, colon).replaceAll("^\\[|\\]$", "");
        if (host.isEmpty()) {
            throw new IllegalArgumentException("no host");
        }
        return InetSocketAddress.createUnresolved(
                host, Integer.parseInt(text.substring(colon + 1)));
    }

    private static Boolean bool(String text) {
        return switch (text) {
            case "true" -> true;
            case "false" -> false;
            default -> throw new IllegalArgumentException("neither");
        };
    }

    private static Long bytes(String text) {
        Matcher matcher = quantity(text);
        long factor =
                switch (matcher.group(2).toLowerCase(Locale.ROOT)) {
                    case "", "b" -> 1L;
                    case "kb", "kib" -> 1L << 10;
                    case "mb", "mib" -> 1L << 20;
                    case "gb", "gib" -> 1L << 30;
                    default -> throw new IllegalArgumentException("unknown unit");
                };
        return Math.multiplyExact(Long.parseLong(matcher.group(1)), factor);
    }

    private static Duration duration(String text) {
        Matcher matcher = quantity(text);
        long amount = Long.parseLong(matcher.group(1));
        return switch (matcher.group(2)) {
            case "ms" -> Duration.ofMillis(amount);
            case "s" -> Duration.ofSeconds(amount);
            case "min", "m" -> Duration.ofMinutes(amount);
            case "h" -> Duration.ofHours(amount);
            default -> throw new IllegalArgumentException("unknown unit");
        };
    }

    private static Matcher quantity(String text) {
        Matcher matcher = QUANTITY.matcher(text.strip());
        if (!matcher.matches()) {
            throw new IllegalArgumentException("no number with a unit");
        }
        return matcher;
    }
}
