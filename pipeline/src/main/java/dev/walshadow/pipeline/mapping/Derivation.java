package dev.walshadow.pipeline.mapping;

import java.util.List;

/** What became of a descriptor: a mapping, or reasons why the table is held back. */
public sealed interface Derivation {

    /**
     * The table can be replicated.
     *
     * @param notes what the operator should know all the same (excluded columns, changed names)
     */
    record Mapped(TableMapping mapping, List<String> notes) implements Derivation {
        public Mapped {
            notes = List.copyOf(notes);
        }
    }

    /**
     * The table is not replicated.
     *
     * @param reasons each a sentence that names the table, the column where one is to blame, and
     *     the remedy
     */
    record HeldBack(List<String> reasons) implements Derivation {
        public HeldBack {
            reasons = List.copyOf(reasons);
        }
    }
}
