package dev.walshadow.benchmarks;

import dev.walshadow.embedded.EmbeddedPostgres;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** The JMH benchmarks of this module in short form: one fork, three seconds each. */
final class MicroBenchmarks {
    private static final int ITERATIONS = 3;
    private static final int MAJOR = 18;
    private static final String ALLOCATED = "gc.alloc.rate.norm";

    private MicroBenchmarks() {}

    static List<Figure> measure() throws RunnerException {
        List<Figure> figures =
                measure(
                        List.of(
                                WalStreamBenchmark.class,
                                RowEncoderBenchmark.class,
                                TransactionBufferBenchmark.class,
                                AttributeWalkerBenchmark.class),
                        TimeValue.seconds(1));
        Path directory = Stand.temporaryDirectory();
        try (EmbeddedPostgres server =
                EmbeddedPostgres.at(directory.resolve("postgres")).version(MAJOR).start()) {
            figures.addAll(
                    measure(
                            List.of(CodecBenchmark.class),
                            TimeValue.milliseconds(400),
                            "-D" + CodecBenchmark.SERVER + "=" + server.jdbcUrl("postgres")));
        } finally {
            Stand.delete(directory);
        }
        return figures;
    }

    private static List<Figure> measure(
            List<Class<?>> benchmarks, TimeValue time, String... jvmArguments)
            throws RunnerException {
        OptionsBuilder options = new OptionsBuilder();
        for (Class<?> each : benchmarks) {
            options.include(each.getName().replace(".", "\\.") + "\\.");
        }
        List<String> arguments = new ArrayList<>(List.of(jvmArguments));
        arguments.add("--enable-native-access=ALL-UNNAMED");
        options.forks(1)
                .warmupIterations(ITERATIONS)
                .warmupTime(time)
                .measurementIterations(ITERATIONS)
                .measurementTime(time)
                .addProfiler(GCProfiler.class)
                .jvmArgsAppend(arguments.toArray(String[]::new))
                .shouldFailOnError(true)
                .verbosity(VerboseMode.SILENT);
        List<Figure> figures = new ArrayList<>();
        Collection<RunResult> results = new Runner(options.build()).run();
        for (RunResult result : results) {
            figures.addAll(figures(result));
        }
        return figures;
    }

    private static List<Figure> figures(RunResult result) {
        String method = result.getParams().getBenchmark();
        String name =
                method.substring(
                        MicroBenchmarks.class.getPackageName().length() + 1,
                        method.lastIndexOf('.'));
        double score = result.getPrimaryResult().getScore();
        double allocated = secondary(result, ALLOCATED);
        if (name.equals(WalStreamBenchmark.class.getSimpleName())) {
            double recordsPerOperation = secondary(result, "records") / score;
            return List.of(
                    Figure.of(name, secondary(result, "megabytes"), "MB/s").atLeast(800),
                    Figure.of(name + ", allocated", allocated / recordsPerOperation, "B/record")
                            .atMost(1));
        }
        String full = name + parameters(result);
        if (name.equals(CodecBenchmark.class.getSimpleName())) {
            Figure bytes = Figure.of(full + ", allocated", allocated, "B/value");
            boolean fixed = CodecBenchmark.FIXED.contains(result.getParams().getParam("type"));
            return List.of(Figure.of(full, score, "ns/value"), fixed ? bytes.atMost(1) : bytes);
        }
        Figure rate = Figure.of(full, score / 1e6, "M/s");
        Figure bytes = Figure.of(full + ", allocated", allocated, "B/record");
        return name.equals(RowEncoderBenchmark.class.getSimpleName())
                ? List.of(rate.atLeast(2), bytes.atMost(1))
                : List.of(rate, bytes);
    }

    private static double secondary(RunResult result, String name) {
        Result<?> found = result.getSecondaryResults().get(name);
        if (found == null) {
            throw new IllegalStateException(
                    "JMH gave no " + name + " but " + result.getSecondaryResults().keySet());
        }
        return found.getScore();
    }

    private static String parameters(RunResult result) {
        StringBuilder text = new StringBuilder();
        for (String key : result.getParams().getParamsKeys()) {
            text.append(", ").append(key).append(' ').append(result.getParams().getParam(key));
        }
        return text.toString();
    }
}
