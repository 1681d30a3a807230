package dev.walshadow.transaction;

import dev.walshadow.postgres.RelationLocator;

/** Which storage belongs to a TOAST relation; answered from the descriptor log. Thread safe. */
public interface ToastRelations {
    /**
     * @param lsn the commit position of the transaction whose records lie in {@code locator}
     * @return the OID of the TOAST relation, 0 if it is none or unknown
     */
    int toastRelationOid(RelationLocator locator, long lsn);
}
