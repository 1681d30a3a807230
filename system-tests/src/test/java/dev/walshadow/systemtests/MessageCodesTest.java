package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import dev.walshadow.base.Code;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Every message code there is, against itself and against docs/messages.md. */
final class MessageCodesTest {
    private static final Path PAGE = Path.of("..", "docs", "messages.md");

    @Test
    void everyCodeIsUnique() throws Exception {
        Map<Code, String> seen = new HashMap<>();
        for (Field field : codeFields()) {
            String other = seen.put((Code) field.get(null), field.toString());
            assertThat(other).as("same code as %s", field).isNull();
        }
        assertThat(seen).hasSizeGreaterThan(80);
    }

    @Test
    void everyCodeIsDescribedWithMeaningAndRemedyAndNoOther() throws Exception {
        TreeSet<String> described = new TreeSet<>();
        for (String line : Files.readAllLines(PAGE)) {
            if (line.startsWith("| WS-")) {
                String[] cells = line.split("\\|", -1);
                assertThat(cells).as(line).hasSize(5);
                assertThat(cells[2]).as(line).isNotBlank();
                assertThat(cells[3]).as(line).isNotBlank();
                assertThat(described.add(cells[1].strip())).as(line).isTrue();
            }
        }
        TreeSet<String> declared = new TreeSet<>();
        for (Field field : codeFields()) {
            declared.add(String.valueOf(field.get(null)));
        }
        assertThat(described).isEqualTo(declared);
    }

    private static List<Field> codeFields() throws ClassNotFoundException {
        JavaClasses classes = new ClassFileImporter().importPackages("dev.walshadow");
        List<Field> fields = new ArrayList<>();
        for (JavaClass type : classes) {
            if (type.getSimpleName().endsWith("Codes")) {
                for (Field field : Class.forName(type.getName()).getDeclaredFields()) {
                    if (field.getType() == Code.class) {
                        field.setAccessible(true);
                        fields.add(field);
                    }
                }
            }
        }
        return fields;
    }
}
