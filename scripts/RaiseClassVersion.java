import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.constant.ClassDesc;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * {@code java RaiseClassVersion.java FROM.jar TO.jar}: the same classes in the class file version
 * of Java 8, with the stack maps that it asks for. The JDK's cache of classes takes none of a
 * version below 50. The same jar gives the same bytes.
 */
final class RaiseClassVersion {
    private static final int MAJOR_ADDRESS = 6;

    private RaiseClassVersion() {}

    public static void main(String[] arguments) throws IOException {
        try (ZipFile from = new ZipFile(arguments[0]);
                OutputStream file = Files.newOutputStream(Path.of(arguments[1]));
                ZipOutputStream to = new ZipOutputStream(file)) {
            ClassFile format = format(from);
            List<? extends ZipEntry> entries =
                    from.stream()
                            .filter(entry -> !entry.isDirectory())
                            .sorted(Comparator.comparing(RaiseClassVersion::place))
                            .toList();
            for (ZipEntry entry : entries) {
                byte[] bytes = bytes(from, entry);
                boolean isOld =
                        entry.getName().endsWith(".class")
                                && bytes[MAJOR_ADDRESS + 1] < ClassFile.JAVA_6_VERSION;
                ZipEntry written = new ZipEntry(entry.getName());
                written.setTimeLocal(entry.getTimeLocal());
                to.putNextEntry(written);
                to.write(isOld ? raised(format, bytes) : bytes);
                to.closeEntry();
            }
        }
    }

    /** The manifest comes first. */
    private static String place(ZipEntry entry) {
        return (entry.getName().equals("META-INF/MANIFEST.MF") ? "0" : "1") + entry.getName();
    }

    private static ClassFile format(ZipFile jar) {
        ClassHierarchyResolver own =
                ClassHierarchyResolver.ofResourceParsing((ClassDesc type) -> {
                    String descriptor = type.descriptorString();
                    ZipEntry entry =
                            jar.getEntry(
                                    descriptor.substring(1, descriptor.length() - 1) + ".class");
                    try {
                        return entry == null ? null : jar.getInputStream(entry);
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                });
        return ClassFile.of(
                ClassFile.StackMapsOption.GENERATE_STACK_MAPS,
                ClassFile.ClassHierarchyResolverOption.of(
                        own.orElse(ClassHierarchyResolver.defaultResolver())));
    }

    private static byte[] raised(ClassFile format, byte[] bytes) {
        ClassModel old = format.parse(bytes);
        ClassTransform version =
                ClassTransform.endHandler(
                        builder -> builder.withVersion(ClassFile.JAVA_8_VERSION, 0));
        // each body is written anew, or it would be copied without stack maps
        ClassTransform bodies =
                ClassTransform.transformingMethodBodies((builder, element) -> builder.with(element));
        return format.transformClass(old, bodies.andThen(version));
    }

    private static byte[] bytes(ZipFile jar, ZipEntry entry) throws IOException {
        try (InputStream in = jar.getInputStream(entry)) {
            return in.readAllBytes();
        }
    }
}
