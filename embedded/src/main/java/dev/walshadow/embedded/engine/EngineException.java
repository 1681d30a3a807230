package dev.walshadow.embedded.engine;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An exception of the engine, or one that the front answers in its style. */
final class EngineException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private static final Pattern CODE = Pattern.compile("Code: (\\d+)\\.");

    static final int UNKNOWN_EXCEPTION = 1002;
    static final int SYNTAX_ERROR = 62;
    static final int UNKNOWN_SETTING = 115;
    static final int NOT_IMPLEMENTED = 48;
    static final int STREAMING_NOT_SUPPORTED = 36;
    static final int ACCESS_DENIED = 497;
    static final int AUTHENTICATION_FAILED = 516;
    static final int INVALID_SETTING_VALUE = 72;

    private final int code;

    /** From the engine's own text, {@code Code: N. DB::Exception: ...}. */
    EngineException(String text) {
        super(text);
        Matcher matcher = CODE.matcher(text);
        this.code = matcher.find() ? Integer.parseInt(matcher.group(1)) : UNKNOWN_EXCEPTION;
    }

    EngineException(int code, String reason, String name) {
        super("Code: " + code + ". DB::Exception: " + reason + " (" + name + ")");
        this.code = code;
    }

    /** A fault of the front itself. */
    static EngineException ofFault(RuntimeException fault) {
        return new EngineException(UNKNOWN_EXCEPTION, fault.toString(), "UNKNOWN_EXCEPTION");
    }

    int code() {
        return code;
    }

    String text() {
        String text = getMessage();
        return text == null ? "" : text;
    }

    /** As {@code src/Server/HTTP/exceptionCodeToHTTPStatus.cpp} of ClickHouse maps the codes. */
    int httpStatus() {
        return switch (code) {
            case 194 -> 401;
            case 192, 193, 497, 512, 516 -> 403;
            case 6, 25, 26, 27, 36, 38, 41, 53, 62, 72, 117 -> 400;
            case 46, 47, 50, 56, 60, 73, 81, 115 -> 404;
            case 159 -> 408;
            case 209 -> 503;
            case 48 -> 501;
            default -> 500;
        };
    }
}
