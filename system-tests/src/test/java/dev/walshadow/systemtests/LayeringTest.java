package dev.walshadow.systemtests;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The house of ARCHITECTURE.md: arrows only go down, siblings do not know each other. */
final class LayeringTest {
    private static final JavaClasses CLASSES =
            new ClassFileImporter()
                    .withImportOption(new ImportOption.DoNotIncludeTests())
                    .withImportOption(location -> !location.contains("-tests.jar"))
                    .importPackages("dev.walshadow");

    /** Each with what it must not know; from the bottom up. */
    @Test
    void arrowsOnlyGoDown() {
        List<String> above = List.of("cli", "daemon", "bootstrap", "pipeline");
        List<String> middle = List.of("transaction", "source", "shadow", "catalog");
        List<String> formats = List.of("postgres", "clickhouse");
        refuse("base", List.of(above, middle, formats, List.of("embedded", "testkit")));
        refuse("postgres", List.of(above, middle, List.of("clickhouse", "embedded", "testkit")));
        refuse("clickhouse", List.of(above, middle, List.of("postgres", "embedded", "testkit")));
        refuse("embedded", List.of(above, middle, formats, List.of("testkit")));
        refuse("catalog", List.of(above, List.of("transaction", "source", "shadow", "clickhouse")));
        refuse(
                "transaction",
                List.of(above, List.of("source", "shadow", "clickhouse", "embedded")));
        refuse(
                "source",
                List.of(above, List.of("transaction", "shadow", "clickhouse", "embedded")));
        refuse("shadow", List.of(above, List.of("transaction", "source", "clickhouse")));
        refuse("pipeline", List.of(List.of("cli", "daemon", "bootstrap", "embedded", "testkit")));
        refuse("bootstrap", List.of(List.of("cli", "daemon", "embedded", "testkit")));
        refuse("daemon", List.of(List.of("cli", "testkit")));
        refuse("cli", List.of(List.of("testkit")));
    }

    private static void refuse(String module, List<List<String>> others) {
        String[] packages =
                others.stream()
                        .flatMap(List::stream)
                        .map(other -> "dev.walshadow." + other + "..")
                        .toArray(String[]::new);
        noClasses()
                .that()
                .resideInAPackage("dev.walshadow." + module + "..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(packages)
                .check(CLASSES);
    }

    /** I13. */
    @Test
    void formatsCatalogAndFilterDoNoNetworkAndStartNoThread() {
        noClasses()
                .that()
                .resideInAnyPackage("dev.walshadow.postgres..", "dev.walshadow.catalog..")
                .or()
                .haveNameMatching("dev\\.walshadow\\.source\\.Filter(State)?(\\$.*)?")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("java.net..", "java.sql..", "javax.net..")
                .orShould()
                .dependOnClassesThat()
                .haveNameMatching(
                        "java\\.nio\\.channels\\.(Server)?SocketChannel"
                                + "|java\\.lang\\.Thread(\\$.*)?|java\\.util\\.Timer"
                                + "|java\\.util\\.concurrent\\."
                                + "(Executor.*|CompletableFuture|ForkJoin.*)")
                .check(CLASSES);
    }
}
