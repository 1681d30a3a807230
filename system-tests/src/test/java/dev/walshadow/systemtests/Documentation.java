package dev.walshadow.systemtests;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The fenced blocks of the pages that a reader has. */
final class Documentation {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Pattern BLOCK = Pattern.compile("(?ms)^```(\\w*)\\n(.*?)^```$");

    private Documentation() {}

    /** README.md and docs/*.md. */
    static List<Path> pages() throws IOException {
        List<Path> pages = new ArrayList<>(List.of(readme()));
        try (Stream<Path> files = Files.list(ROOT.resolve("docs"))) {
            files.filter(file -> file.toString().endsWith(".md")).sorted().forEach(pages::add);
        }
        return pages;
    }

    static Path readme() {
        return ROOT.resolve("README.md");
    }

    /**
     * @param language what stands behind the fence, {@code sh}
     */
    static List<String> blocks(String page, String language) {
        List<String> blocks = new ArrayList<>();
        Matcher block = BLOCK.matcher(page);
        while (block.find()) {
            if (block.group(1).equals(language)) {
                blocks.add(block.group(2));
            }
        }
        return blocks;
    }

    /** The part below a heading, up to the next one of its level. */
    static String section(String page, String heading) {
        int from = page.indexOf("\n" + heading + "\n");
        if (from < 0) {
            throw new IllegalStateException("no heading " + heading);
        }
        String level = heading.substring(0, heading.indexOf(' ') + 1);
        int to = page.indexOf("\n" + level, from + heading.length());
        return page.substring(from, to < 0 ? page.length() : to);
    }

    /** The commands of a block, each with the lines that it goes on in. */
    static List<String> commands(String block) {
        return block.replace("\\\n", "")
                .lines()
                .map(String::strip)
                .filter(line -> !line.isEmpty())
                .toList();
    }
}
