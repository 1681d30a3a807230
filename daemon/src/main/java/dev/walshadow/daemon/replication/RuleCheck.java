package dev.walshadow.daemon.replication;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.ConfigurationLoader;
import dev.walshadow.daemon.config.NameRules;
import dev.walshadow.daemon.preflight.Findings;
import dev.walshadow.daemon.preflight.TableSelection;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Whether the rules for single tables and columns fit what is on the source. */
final class RuleCheck {
    private final MappingRules rules;
    private final TableSelection selection;
    private final Findings findings;
    private final Map<RelationName, RelationDescriptor> known = new HashMap<>();

    private RuleCheck(MappingRules rules, TableSelection selection, Findings findings) {
        this.rules = rules;
        this.selection = selection;
        this.findings = findings;
    }

    static void check(
            NameRules written,
            MappingRules rules,
            List<RelationDescriptor> relations,
            TableSelection selection,
            Findings findings) {
        RuleCheck check = new RuleCheck(rules, selection, findings);
        relations.forEach(relation -> check.known.put(relation.name(), relation));
        Map<String, RelationName> tables = new TreeMap<>();
        written.tables().keySet().forEach(name -> tables.put(name.toString(), name));
        tables.values().forEach(check::table);
    }

    private void table(RelationName name) {
        RelationDescriptor relation = known.get(name);
        String section = "[tables.\"" + name + "\"]";
        if (relation == null) {
            finding(
                    section
                            + " is about a table that the source has not"
                            + nearest(
                                    name.toString(),
                                    known.keySet().stream().map(RelationName::toString).toList()));
            return;
        }
        if (!selection.matches(name) && !selection.decisions().isRemoved(name)) {
            finding(section + " is about a table that [tables] include and exclude leave out");
            return;
        }
        List<String> columns =
                relation.attributes().stream()
                        .filter(attribute -> !attribute.dropped())
                        .map(AttributeDescriptor::name)
                        .toList();
        for (String problem : TableMapping.ruleProblems(relation, rules)) {
            finding(relation.label() + ": " + problem);
        }
        for (String column : rules.unknownColumns(relation)) {
            finding(
                    section
                            + " columns."
                            + column
                            + " is about a column that the table has not"
                            + nearest(column, columns));
        }
    }

    private static String nearest(String word, List<String> candidates) {
        return ConfigurationLoader.nearest(word, candidates)
                .map(text -> "; did you mean " + text + "?")
                .orElse("");
    }

    private void finding(String text) {
        findings.add(DaemonCodes.BAD_RULE, text);
    }
}
