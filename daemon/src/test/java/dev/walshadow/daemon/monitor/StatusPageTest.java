package dev.walshadow.daemon.monitor;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * What the status page shows, in headless Chromium. {@code -Dwalshadow.screenshot=FILE} keeps a
 * picture.
 */
@Timeout(300)
final class StatusPageTest {
    /** Text and background of everything that is shown, by WCAG 2's formula. */
    private static final String FAINT_TEXTS =
            """
            (() => {
              const light = (rgb) => {
                const [r, g, b] = rgb.match(/[\\d.]+/g).slice(0, 3).map((c) => {
                  const s = c / 255;
                  return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
                });
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
              };
              const behind = (node) => {
                for (let at = node; at; at = at.parentElement) {
                  const colour = getComputedStyle(at).backgroundColor;
                  if (!/, 0\\)$/.test(colour)) return colour;
                }
                return "rgb(255, 255, 255)";
              };
              const faint = [];
              for (const node of document.querySelectorAll("body *")) {
                const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
                if (!own || !node.offsetParent || node.closest("script, style")) continue;
                const pair = [light(getComputedStyle(node).color), light(behind(node))];
                const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
                if (ratio < 4.5) faint.push(node.tagName + " " + node.textContent + " " + ratio);
              }
              return faint;
            })()
            """;

    private static Browser browser;

    private final Pages.Shown shown = new Pages.Shown();
    private final Pages.Asked control = new Pages.Asked();
    private MonitorServer server;

    @BeforeAll
    static void startBrowser() throws IOException {
        browser = Browser.start();
    }

    @AfterAll
    static void closeBrowser() throws IOException {
        browser.close();
    }

    @BeforeEach
    void serve() {
        server =
                MonitorServer.start(
                        InetSocketAddress.createUnresolved("127.0.0.1", 0), shown, control, null);
        shown.events.add(Instant.parse("2026-01-02T03:04:05Z"), "info", "resuming at 0/1000");
        shown.events.add(
                Instant.parse("2026-01-02T03:05:05Z"),
                "error",
                "WS-1704 ClickHouse refuses the rows of public.bad; free its disk");
        browser.size(1200, 1500);
        browser.colours("light");
    }

    @AfterEach
    void close() {
        server.close();
    }

    private static List<String> strings(String expression) {
        List<String> texts = new ArrayList<>();
        browser.evaluate(expression).forEach(each -> texts.add(each.asString()));
        return texts;
    }

    @Test
    void showsStateLagTablesSlotShadowEventsAndSettings() throws IOException {
        browser.show(server.url());
        assertThat(browser.text("#state")).isEqualTo("replicating, tables are set aside");
        assertThat(browser.text("#route")).isEqualTo("postgres://db/shop to http://ch:8123");
        assertThat(browser.text("#now"))
                .contains("Behind the source 1.5 s")
                .contains("WAL not in ClickHouse yet 4.0 kB")
                .contains("Last commit took 42 ms")
                .contains("Up for 1 h 2 min");
        assertThat(browser.text("#tables tr:first-child"))
                .contains("quarantined")
                .contains("WS-1704 ClickHouse refuses its rows")
                .contains("5 changes discarded")
                .contains("walshadow resync");
        assertThat(browser.text("#tables")).contains("3 values clamped");
        assertThat(browser.text("#source"))
                .contains("Slot's WAL reserved")
                .contains("Room before it is lost 976.6 kB");
        assertThat(browser.text("#shadow")).contains("runs, process 4711");
        assertThat(browser.text("#memory")).contains("batches 124.0 MB of 128.0 MB");
        assertThat(browser.text("#events tr:first-child"))
                .contains("error")
                .contains("WS-1704 ClickHouse refuses the rows of public.bad; free its disk");
        browser.evaluate("document.querySelector('details').open = true");
        assertThat(browser.text("#settings")).contains("clickhouse.password *** environment");
        String picture = System.getProperty("walshadow.screenshot");
        if (picture != null) {
            browser.evaluate("document.querySelector('details').open = false");
            shown.status.set(
                    Pages.read(shown.status.get().toString().replace("<b>bad</b>", "bad")));
            browser.await("!document.getElementById('tables').innerText.includes('<b>')");
            Files.write(Path.of(picture), browser.picture());
        }
    }

    @Test
    void thePipelineNamesTheBottleneckInWords() {
        browser.show(server.url());
        assertThat(browser.text("#pipeline li[data-stage=clickhouse]"))
                .contains("bottleneck")
                .contains("at 0/2000")
                .contains("1.5 s, 4.0 kB behind");
        assertThat(browser.evaluate("document.querySelectorAll('.blocked').length").asInt())
                .isEqualTo(1);
        assertThat(browser.text("#bottleneck"))
                .isEqualTo(
                        "The others wait for this: clickhouse. batches wait until ClickHouse"
                                + " takes more INSERTs");
        shown.status.get().remove("bottleneck");
        browser.await("document.getElementById('bottleneck').innerText.startsWith('No')");
        assertThat(browser.evaluate("document.querySelectorAll('.blocked').length").asInt())
                .isZero();
    }

    @Test
    void loadsShowProgressAndTimeLeft() {
        browser.show(server.url());
        assertThat(browser.text("#loads"))
                .isEqualTo(
                        "public.big: reading rows, it was rewritten, 500 of about 2,000 rows,"
                                + " about 1 min 30 s left");
        assertThat(browser.evaluate("document.querySelector('progress').position").asDouble())
                .isEqualTo(0.25);
        shown.status.set(
                Pages.read(
                        """
                        {"phase":"bootstrap","ok":true,"source":"s","target":"t","loads":[],
                         "bootstrap":{"bytes":1048576,"bytes_total":4194304,"rows":7,
                          "eta_seconds":30,"step":"copying"}}
                        """));
        browser.await("document.getElementById('state').innerText === 'initial load'");
        assertThat(browser.text("#loads"))
                .isEqualTo("Initial load: copying, 1.0 MB of 4.0 MB, 7 rows, about 30 s left");
    }

    @Test
    void rowsThatDifferAreNamed() {
        browser.show(server.url());
        assertThat(browser.text("#verification"))
                .contains("All rows that were compared are equal.")
                .contains("Rows compared 9,000")
                .doesNotContain("Known since");
        ObjectNode verify = (ObjectNode) shown.status.get().path("verify");
        verify.put("differences", 2);
        ((ArrayNode) verify.path("different"))
                .addObject()
                .put("table", "public.Orders")
                .put("key", "id=<b>7</b>")
                .put("kind", "missing_in_clickhouse")
                .put("column", "")
                .put("since", "2026-01-02T03:04:05Z");
        browser.await("document.getElementById('different').innerText.includes('Orders')");
        assertThat(browser.text("#verification"))
                .contains("2 rows differ from the source; walshadow verify --repair")
                .contains("id=<b>7</b>")
                .contains("missing in clickhouse");
        assertThat(strings(FAINT_TEXTS)).isEmpty();
        shown.status.get().remove("verify");
        browser.await("document.getElementById('verification').hidden");
    }

    @Test
    void whatComesFromTheSourceIsTextAndNotMarkup() {
        browser.show(server.url());
        assertThat(browser.text("#tables")).contains("public.<b>bad</b>");
        assertThat(browser.evaluate("document.querySelectorAll('#tables b').length").asInt())
                .isZero();
    }

    @Test
    void followsTheDaemonAndSaysWhenItIsGone() {
        browser.show(server.url());
        shown.status.get().put("rows", 5_000_000L);
        browser.await("document.getElementById('now').innerText.includes('5,000,000')");
        browser.await("/L/.test(document.getElementById('chart-path').getAttribute('d'))");
        server.close();
        browser.await("document.getElementById('state').innerText.startsWith('no answer')");
        assertThat(browser.evaluate("document.getElementById('state').className").asString())
                .isEqualTo("bad");
    }

    @Test
    void nothingComesFromElsewhere() {
        browser.show(server.url());
        assertThat(
                        strings(
                                "performance.getEntriesByType('resource').map((e) => e.name)"
                                        + ".filter((name) => !name.startsWith(location.origin))"))
                .isEmpty();
        assertThat(StatusPage.load().html()).doesNotContain("http://").doesNotContain("https://");
    }

    @Test
    void withTheTokenOnePausesResumesAndReloadsFromThePage() {
        browser.show(server.url());
        assertThat(browser.text("#read-only")).contains("token_file");
        assertThat(
                        browser.evaluate("document.getElementById('steer').offsetParent === null")
                                .asBoolean())
                .isTrue();
        server.close();
        server =
                MonitorServer.start(
                        InetSocketAddress.createUnresolved("127.0.0.1", 0),
                        shown,
                        control,
                        new ApiToken("0123456789abcdef"));
        browser.show(server.url());
        assertThat(browser.evaluate("document.getElementById('pause').disabled").asBoolean())
                .isTrue();
        browser.evaluate("document.getElementById('token').focus()");
        browser.type("0123456789abcde");
        browser.evaluate("document.getElementById('pause').click()");
        browser.await("document.getElementById('steered').innerText.includes('refused')");
        assertThat(control.requests).isEmpty();
        browser.type("f");
        browser.evaluate("document.getElementById('pause').click()");
        browser.await("document.getElementById('steered').innerText === 'Paused.'");
        shown.status
                .get()
                .put("paused", true)
                .put("paused_since", "2026-01-02T03:04:05Z")
                .put("paused_reason", "<i>upgrade</i>");
        browser.await("document.getElementById('pause').innerText === 'Resume'");
        assertThat(browser.text("#state")).startsWith("paused");
        assertThat(browser.text("#pause-state")).contains("<i>upgrade</i>");
        assertThat(strings(FAINT_TEXTS)).isEmpty();
        browser.evaluate("document.getElementById('pause').click()");
        browser.await("document.getElementById('steered').innerText === 'Resumed.'");
        shown.status.get().put("paused", false);
        browser.await("document.getElementById('pause').innerText === 'Pause'");
        browser.evaluate("document.querySelector('[data-resync=\"public.big\"]').click()");
        browser.await("document.getElementById('steered').innerText.includes('public.big is')");
        assertThat(control.requests.stream().map(each -> each.path("command").asString("")))
                .containsExactly("pause", "resume", "resync");
        assertThat(control.requests.getLast().path("tables").toString())
                .isEqualTo("[\"public.big\"]");
    }

    @Test
    void fitsAPhone() {
        browser.size(360, 740);
        browser.show(server.url());
        assertThat(browser.evaluate("document.documentElement.scrollWidth").asInt())
                .isLessThanOrEqualTo(360);
    }

    @Test
    void textIsReadableInLightAndDark() {
        List<String> backgrounds = new ArrayList<>();
        for (String scheme : List.of("light", "dark")) {
            browser.colours(scheme);
            browser.show(server.url());
            browser.evaluate("document.querySelector('details').open = true");
            assertThat(strings(FAINT_TEXTS)).as(scheme).isEmpty();
            backgrounds.add(
                    browser.evaluate("getComputedStyle(document.body).backgroundColor").asString());
        }
        assertThat(backgrounds).doesNotHaveDuplicates();
    }

    @Test
    void theKeyboardReachesAndUsesEverything() {
        browser.show(server.url());
        List<String> reached = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            browser.press("Tab");
            reached.add(
                    browser.evaluate(
                                    "document.activeElement.id"
                                            + " || document.activeElement"
                                            + ".getAttribute('aria-label')"
                                            + " || document.activeElement.innerText")
                            .asString());
            if (reached.getLast().equals("find")) {
                browser.type("orders");
            }
        }
        assertThat(reached)
                .containsSubsequence(
                        "Skip to content",
                        "find",
                        "problems",
                        "Tables",
                        "Recent events",
                        "Effective values");
        assertThat(browser.text("#table-count")).isEqualTo("1 of 3 tables");
        assertThat(browser.text("#tables")).contains("public.Orders").doesNotContain("public.big");
    }

    @Test
    void aScreenReaderFindsNamesHeadingsAndHeaders() {
        browser.show(server.url());
        browser.call("Accessibility.enable", Browser.parameters());
        JsonNode tree =
                browser.call("Accessibility.getFullAXTree", Browser.parameters()).path("nodes");
        List<String> nameless = new ArrayList<>();
        List<String> roles = new ArrayList<>();
        for (JsonNode node : tree) {
            String role = node.path("role").path("value").asString("");
            roles.add(role);
            boolean needsName =
                    isFocusable(node)
                            || List.of("region", "progressbar", "meter", "image").contains(role);
            if (needsName
                    && !role.equals("RootWebArea")
                    && node.path("name").path("value").asString("").isBlank()) {
                nameless.add(node.toString());
            }
        }
        assertThat(nameless).isEmpty();
        assertThat(roles).contains("main", "heading", "columnheader", "rowheader", "status");
        assertThat(
                        browser.evaluate(
                                        "[...document.querySelectorAll('h1,h2,h3')]"
                                                + ".map((h) => h.tagName).join(' ')")
                                .asString())
                .matches("H1( H2)+");
        assertThat(
                        strings(
                                "[...document.querySelectorAll('th:not([scope])')]"
                                        + ".map((t) => t.innerText)"))
                .isEmpty();
        assertThat(
                        strings(
                                "[...document.querySelectorAll('[id]')].map((e) => e.id)"
                                        + ".filter((id, i, all) => all.indexOf(id) !== i)"))
                .isEmpty();
        assertThat(browser.evaluate("document.documentElement.lang").asString()).isEqualTo("en");
    }

    private static boolean isFocusable(JsonNode node) {
        for (JsonNode property : node.path("properties")) {
            if (property.path("name").asString("").equals("focusable")) {
                return property.path("value").path("value").asBoolean(false);
            }
        }
        return false;
    }
}
