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
                    .importPackages("dev.walshadow");

    /** Each with what it must not know; from the bottom up. */
    @Test
    void arrowsOnlyGoDown() {
        List<String> above = List.of("cli", "daemon", "bootstrap", "pipeline");
        List<String> middle = List.of("transaction", "source", "shadow", "catalog");
        List<String> formats = List.of("postgres", "clickhouse");
        refuse("base", above, middle, formats, List.of("embedded", "testkit"));
        refuse("postgres", above, middle, List.of("clickhouse", "embedded", "testkit"));
        refuse("clickhouse", above, middle, List.of("postgres", "embedded", "testkit"));
        refuse("embedded", above, middle, formats, List.of("testkit"));
        refuse("catalog", above, List.of("transaction", "source", "shadow", "clickhouse"));
        refuse("transaction", above, List.of("source", "shadow", "clickhouse", "embedded"));
        refuse("source", above, List.of("transaction", "shadow", "clickhouse", "embedded"));
        refuse("shadow", above, List.of("transaction", "source", "clickhouse"));
        refuse("pipeline", List.of("cli", "daemon", "bootstrap", "embedded", "testkit"));
        refuse("bootstrap", List.of("cli", "daemon", "embedded", "testkit"));
        refuse("daemon", List.of("cli", "testkit"));
        refuse("cli", List.of("testkit"));
    }

    @SafeVarargs
    private static void refuse(String module, List<String>... others) {
        String[] packages =
                List.of(others).stream()
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
