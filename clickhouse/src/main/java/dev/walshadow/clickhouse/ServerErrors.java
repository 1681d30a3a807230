package dev.walshadow.clickhouse;

import com.clickhouse.client.api.ClientMisconfigurationException;
import com.clickhouse.client.api.ServerException;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.WalshadowException;
import java.util.Locale;
import java.util.Set;

/**
 * Which failure asks for what. Codes are ClickHouse's ({@code src/Common/ErrorCodes.cpp}). What is
 * listed nowhere is a refusal: repeating a statement that ClickHouse understood and rejected does
 * not help, and it must not stop other tables.
 */
final class ServerErrors {
    /** Repeat with backoff. */
    private static final Set<Integer> BUSY =
            Set.of(
                    3, // UNEXPECTED_END_OF_FILE: the request was cut
                    23, // CANNOT_READ_FROM_SOCKET
                    24, // CANNOT_WRITE_TO_FILE_DESCRIPTOR
                    32, // ATTEMPT_TO_READ_AFTER_EOF
                    33, // CANNOT_READ_ALL_DATA
                    74, // CANNOT_READ_FROM_FILE_DESCRIPTOR
                    75, // CANNOT_WRITE_TO_FILE_DESCRIPTOR
                    95, // CANNOT_READ_FROM_SOCKET
                    96, // CANNOT_WRITE_TO_SOCKET
                    101, // UNEXPECTED_PACKET_FROM_CLIENT
                    159, // TIMEOUT_EXCEEDED
                    160, // TOO_SLOW
                    173, // CANNOT_ALLOCATE_MEMORY
                    201, // QUOTA_EXCEEDED
                    202, // TOO_MANY_SIMULTANEOUS_QUERIES
                    209, // SOCKET_TIMEOUT
                    210, // NETWORK_ERROR
                    225, // NO_ZOOKEEPER
                    236, // ABORTED
                    241, // MEMORY_LIMIT_EXCEEDED
                    242, // TABLE_IS_READ_ONLY: a replica without its Keeper
                    243, // NOT_ENOUGH_SPACE
                    252, // TOO_MANY_PARTS
                    254, // NO_ACTIVE_REPLICAS
                    279, // ALL_CONNECTION_TRIES_FAILED
                    285, // TOO_FEW_LIVE_REPLICAS
                    286, // UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE
                    289, // REPLICA_IS_NOT_IN_QUORUM
                    297, // UNKNOWN_STATUS_OF_INSERT
                    306, // CANNOT_SCHEDULE_TASK
                    319, // UNKNOWN_STATUS_OF_INSERT
                    335, // BARRIER_TIMEOUT
                    373, // SESSION_IS_LOCKED
                    394, // QUERY_WAS_CANCELLED
                    415, // ALL_REPLICAS_LOST
                    425, // SYSTEM_ERROR
                    439, // CANNOT_SCHEDULE_TASK
                    473, // DEADLOCK_AVOIDED
                    517, // CANNOT_ASSIGN_ALTER
                    598, // DATABASE_REPLICATION_FAILED
                    659, // UNKNOWN_STATUS_OF_TRANSACTION
                    701, // CLUSTER_DOESNT_EXIST: nodes still come up
                    722, // ASYNC_LOAD_WAIT_FAILED
                    733, // TABLE_IS_BEING_RESTARTED
                    999); // KEEPER_EXCEPTION

    /** The operator must change users, rights or the URL. */
    private static final Set<Integer> ACCESS =
            Set.of(
                    164, // READONLY
                    192, // UNKNOWN_USER
                    193, // WRONG_PASSWORD
                    194, // REQUIRED_PASSWORD
                    195, // IP_ADDRESS_NOT_ALLOWED
                    291, // DATABASE_ACCESS_DENIED
                    492, // ACCESS_ENTITY_NOT_FOUND
                    497, // ACCESS_DENIED
                    516, // AUTHENTICATION_FAILED
                    746); // USER_EXPIRED

    private ServerErrors() {}

    static WalshadowException classify(String what, ClickHouseOptions options, Throwable failure) {
        for (Throwable t = failure; t != null; t = t.getCause()) {
            if (t instanceof WalshadowException known) {
                return known;
            }
            if (t instanceof ServerException server) {
                return fromServer(what, options, server);
            }
            if (t instanceof ClientMisconfigurationException) {
                return new ConfigurationException(
                        ClickHouseCodes.OPTIONS,
                        "the ClickHouse connection "
                                + options
                                + " cannot be used: "
                                + t.getMessage(),
                        failure);
            }
        }
        return new RetryException(
                ClickHouseCodes.UNREACHABLE,
                String.format(
                        Locale.ROOT,
                        "ClickHouse at %s did not answer %s: %s; it is asked again until it does",
                        options.url(),
                        what,
                        deepest(failure)),
                failure);
    }

    private static WalshadowException fromServer(
            String what, ClickHouseOptions options, ServerException server) {
        int code = server.getCode();
        int status = server.getTransportProtocolCode();
        String text = firstLine(String.valueOf(server.getMessage()));
        ServerError cause = new ServerError(code, text, server);
        String said = String.format(Locale.ROOT, "code %d, %s", code, text);
        if (ACCESS.contains(code) || (code <= 0 && (status == 401 || status == 403))) {
            return new ConfigurationException(
                    ClickHouseCodes.ACCESS,
                    String.format(
                            Locale.ROOT,
                            "ClickHouse at %s refuses user %s for %s: %s; check user, password and"
                                    + " grants",
                            options.url(),
                            options.user(),
                            what,
                            said),
                    cause);
        }
        if (BUSY.contains(code) || code <= 0) {
            return new RetryException(
                    ClickHouseCodes.BUSY,
                    String.format(
                            Locale.ROOT,
                            "ClickHouse at %s cannot do %s now: %s (HTTP %d); it is repeated",
                            options.url(),
                            what,
                            said,
                            status),
                    cause);
        }
        return new QuarantineException(
                ClickHouseCodes.REFUSED,
                String.format(
                        Locale.ROOT, "ClickHouse at %s refused %s: %s", options.url(), what, said),
                cause);
    }

    static RetryException interrupted(String what, InterruptedException e) {
        Thread.currentThread().interrupt();
        return new RetryException(
                ClickHouseCodes.UNREACHABLE, what + " was interrupted before its answer", e);
    }

    private static String firstLine(String text) {
        int end = text.indexOf('\n');
        return end < 0 ? text : text.substring(0, end);
    }

    private static String deepest(Throwable failure) {
        Throwable t = failure;
        while (t.getCause() != null) {
            t = t.getCause();
        }
        String name = t.getClass().getSimpleName();
        return t.getMessage() == null ? name : name + ": " + t.getMessage();
    }
}
