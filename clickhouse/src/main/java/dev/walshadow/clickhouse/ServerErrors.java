package dev.walshadow.clickhouse;

import com.clickhouse.client.api.ClientMisconfigurationException;
import com.clickhouse.client.api.ServerException;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.WalshadowException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Which failure asks for what. Codes are ClickHouse's ({@code src/Common/ErrorCodes.cpp}). What is
 * listed nowhere is a refusal: repeating a statement that ClickHouse understood and rejected does
 * not help, and it must not stop other tables.
 */
final class ServerErrors {
    private static final int CANNOT_OPEN_FILE = 76;
    private static final String NO_DESCRIPTORS = "Too many open files";

    /** Repeat with backoff: network, overload, replicas or Keeper that are not ready. */
    static final Map<Integer, String> BUSY =
            Map.ofEntries(
                    Map.entry(3, "UNEXPECTED_END_OF_FILE"),
                    Map.entry(23, "CANNOT_READ_FROM_ISTREAM"),
                    Map.entry(24, "CANNOT_WRITE_TO_OSTREAM"),
                    Map.entry(32, "ATTEMPT_TO_READ_AFTER_EOF"),
                    Map.entry(33, "CANNOT_READ_ALL_DATA"),
                    Map.entry(40, "CHECKSUM_DOESNT_MATCH"),
                    Map.entry(74, "CANNOT_READ_FROM_FILE_DESCRIPTOR"),
                    Map.entry(75, "CANNOT_WRITE_TO_FILE_DESCRIPTOR"),
                    Map.entry(CANNOT_OPEN_FILE, "CANNOT_OPEN_FILE"),
                    Map.entry(95, "CANNOT_READ_FROM_SOCKET"),
                    Map.entry(96, "CANNOT_WRITE_TO_SOCKET"),
                    Map.entry(159, "TIMEOUT_EXCEEDED"),
                    Map.entry(160, "TOO_SLOW"),
                    Map.entry(173, "CANNOT_ALLOCATE_MEMORY"),
                    Map.entry(198, "DNS_ERROR"),
                    Map.entry(201, "QUOTA_EXCEEDED"),
                    Map.entry(202, "TOO_MANY_SIMULTANEOUS_QUERIES"),
                    Map.entry(203, "NO_FREE_CONNECTION"),
                    Map.entry(209, "SOCKET_TIMEOUT"),
                    Map.entry(210, "NETWORK_ERROR"),
                    Map.entry(225, "NO_ZOOKEEPER"),
                    Map.entry(236, "ABORTED"),
                    Map.entry(241, "MEMORY_LIMIT_EXCEEDED"),
                    Map.entry(242, "TABLE_IS_READ_ONLY"),
                    Map.entry(243, "NOT_ENOUGH_SPACE"),
                    Map.entry(252, "TOO_MANY_PARTS"),
                    Map.entry(254, "NO_ACTIVE_REPLICAS"),
                    Map.entry(265, "NO_AVAILABLE_REPLICA"),
                    Map.entry(279, "ALL_CONNECTION_TRIES_FAILED"),
                    Map.entry(285, "TOO_FEW_LIVE_REPLICAS"),
                    Map.entry(286, "UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE"),
                    Map.entry(289, "REPLICA_IS_NOT_IN_QUORUM"),
                    Map.entry(297, "SHARD_HAS_NO_CONNECTIONS"),
                    Map.entry(319, "UNKNOWN_STATUS_OF_INSERT"),
                    Map.entry(341, "UNFINISHED"),
                    Map.entry(364, "RECEIVED_ERROR_TOO_MANY_REQUESTS"),
                    Map.entry(369, "ALL_REPLICAS_ARE_STALE"),
                    Map.entry(373, "SESSION_IS_LOCKED"),
                    Map.entry(384, "PART_IS_TEMPORARILY_LOCKED"),
                    Map.entry(394, "QUERY_WAS_CANCELLED"),
                    Map.entry(410, "EXTERNAL_SERVER_IS_NOT_RESPONDING"),
                    Map.entry(415, "ALL_REPLICAS_LOST"),
                    Map.entry(416, "REPLICA_STATUS_CHANGED"),
                    Map.entry(425, "SYSTEM_ERROR"),
                    Map.entry(439, "CANNOT_SCHEDULE_TASK"),
                    Map.entry(473, "DEADLOCK_AVOIDED"),
                    Map.entry(499, "S3_ERROR"),
                    Map.entry(500, "AZURE_BLOB_STORAGE_ERROR"),
                    Map.entry(517, "CANNOT_ASSIGN_ALTER"),
                    Map.entry(519, "NO_REMOTE_SHARD_AVAILABLE"),
                    Map.entry(529, "NOT_A_LEADER"),
                    Map.entry(574, "DISTRIBUTED_TOO_MANY_PENDING_BYTES"),
                    Map.entry(659, "UNKNOWN_STATUS_OF_TRANSACTION"),
                    Map.entry(677, "THREAD_WAS_CANCELED"),
                    Map.entry(692, "TOO_MANY_MUTATIONS"),
                    Map.entry(696, "ASYNC_LOAD_CANCELED"),
                    Map.entry(700, "USER_SESSION_LIMIT_EXCEEDED"),
                    Map.entry(722, "ASYNC_LOAD_WAIT_FAILED"),
                    Map.entry(733, "TABLE_IS_BEING_RESTARTED"),
                    Map.entry(735, "QUERY_WAS_CANCELLED_BY_CLIENT"),
                    Map.entry(745, "SERVER_OVERLOADED"),
                    Map.entry(749, "TCP_CONNECTION_LIMIT_REACHED"),
                    Map.entry(762, "HTTP_CONNECTION_LIMIT_REACHED"),
                    Map.entry(776, "RESOURCE_LIMIT_EXCEEDED"),
                    Map.entry(777, "MEMORY_RESERVATION_KILLED"),
                    Map.entry(778, "MEMORY_RESERVATION_FAILED"),
                    Map.entry(900, "DISTRIBUTED_CACHE_ERROR"),
                    Map.entry(901, "CANNOT_USE_DISTRIBUTED_CACHE"),
                    Map.entry(903, "DISTRIBUTED_CACHE_REGISTRY_SHUTDOWN"),
                    Map.entry(904, "TOO_MANY_UNAVAILABLE_SHARDS"),
                    Map.entry(999, "KEEPER_EXCEPTION"),
                    Map.entry(1000, "POCO_EXCEPTION"));

    /** This host cannot take writes or does not see Keeper; another one may. */
    private static final Set<Integer> OF_THIS_HOST =
            Set.of(
                    198, 202, 209, 210, 225, 236, 241, 242, 243, 289, 369, 425, 499, 696, 722, 733,
                    745, 749, 762, 999);

    /** The operator must change user, password, rights or settings. */
    static final Map<Integer, String> ACCESS =
            Map.ofEntries(
                    Map.entry(115, "UNKNOWN_SETTING"),
                    Map.entry(164, "READONLY"),
                    Map.entry(192, "UNKNOWN_USER"),
                    Map.entry(193, "WRONG_PASSWORD"),
                    Map.entry(194, "REQUIRED_PASSWORD"),
                    Map.entry(195, "IP_ADDRESS_NOT_ALLOWED"),
                    Map.entry(291, "DATABASE_ACCESS_DENIED"),
                    Map.entry(452, "SETTING_CONSTRAINT_VIOLATION"),
                    Map.entry(472, "READONLY_SETTING"),
                    Map.entry(492, "ACCESS_ENTITY_NOT_FOUND"),
                    Map.entry(497, "ACCESS_DENIED"),
                    Map.entry(511, "UNKNOWN_ROLE"),
                    Map.entry(512, "SET_NON_GRANTED_ROLE"),
                    Map.entry(516, "AUTHENTICATION_FAILED"),
                    Map.entry(702, "CLIENT_INFO_DOES_NOT_MATCH"),
                    Map.entry(720, "USER_EXPIRED"),
                    Map.entry(763, "SESSION_REFUSED"),
                    Map.entry(767, "REQUIRED_SECOND_FACTOR"));

    /** client-v2 does not pass on the text of an errno, which would tell which it is. */
    private static final String NO_FILES_ADVICE =
            ". The server cannot open files of its own: raise its limit of open files (LimitNOFILE"
                    + " of its service, ulimit -n), or look at its disk";

    private ServerErrors() {}

    static WalshadowException classify(
            String what, String endpoint, String user, Throwable failure) {
        for (Throwable t = failure; t != null; t = t.getCause()) {
            if (t instanceof WalshadowException known) {
                return known;
            }
            if (t instanceof ServerException server) {
                return fromServer(what, endpoint, user, server);
            }
            if (t instanceof ClientMisconfigurationException) {
                return new ConfigurationException(
                        ClickHouseCodes.OPTIONS,
                        "the ClickHouse connection "
                                + user
                                + "@"
                                + endpoint
                                + " cannot be used: "
                                + t.getMessage(),
                        failure);
            }
        }
        return new RetryException(
                ClickHouseCodes.UNREACHABLE,
                String.format(
                        Locale.ROOT,
                        "ClickHouse at %s did not answer %s: %s; check that it runs and that"
                                + " [clickhouse] url is right",
                        endpoint,
                        what,
                        deepest(failure)),
                failure);
    }

    private static WalshadowException fromServer(
            String what, String endpoint, String user, ServerException server) {
        int code = server.getCode();
        int status = server.getTransportProtocolCode();
        String text = firstLine(String.valueOf(server.getMessage()));
        ServerError cause = new ServerError(code, text, server);
        String said = String.format(Locale.ROOT, "code %d, %s", code, text);
        if (ACCESS.containsKey(code) || (code <= 0 && (status == 401 || status == 403))) {
            return new ConfigurationException(
                    ClickHouseCodes.ACCESS,
                    String.format(
                            Locale.ROOT,
                            "ClickHouse at %s refuses user %s for %s: %s; check user, password and"
                                    + " grants",
                            endpoint,
                            user,
                            what,
                            said),
                    cause);
        }
        boolean noFiles = code == CANNOT_OPEN_FILE || text.contains(NO_DESCRIPTORS);
        if (BUSY.containsKey(code) || code <= 0 || noFiles) {
            return new RetryException(
                    ClickHouseCodes.BUSY,
                    String.format(
                            Locale.ROOT,
                            "ClickHouse at %s cannot do %s now: %s (HTTP %d)%s; it is repeated",
                            endpoint,
                            what,
                            said,
                            status,
                            noFiles ? NO_FILES_ADVICE : ""),
                    cause);
        }
        return new QuarantineException(
                ClickHouseCodes.REFUSED,
                String.format(Locale.ROOT, "ClickHouse at %s refused %s: %s", endpoint, what, said),
                cause);
    }

    /** Whether the host itself is the trouble: it does not answer, or is not fit to serve. */
    static boolean asksForAnotherHost(WalshadowException failure) {
        return failure instanceof RetryException
                && (!(failure.getCause() instanceof ServerError server)
                        || server.errorCode() <= 0
                        || OF_THIS_HOST.contains(server.errorCode()));
    }

    /** Whether no host took the statement, so that it has had no effect. */
    static boolean reachedNobody(Throwable failure) {
        for (Throwable t = failure; t != null; t = t.getCause()) {
            if (t instanceof ConnectException
                    || t instanceof NoRouteToHostException
                    || t instanceof UnknownHostException) {
                return true;
            }
        }
        return false;
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
