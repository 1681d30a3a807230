package dev.walshadow.cli;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/**
 * SIGHUP. The JDK's only way to it is {@code sun.misc.Signal}, which the compiler warns of at every
 * mention and never lets one silence; so it is asked for by name.
 */
final class HangUpSignal {
    private HangUpSignal() {}

    /** Runs the action at each SIGHUP, which otherwise would end the process. */
    static void handle(Runnable action) {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            Method handle = signal.getMethod("handle", signal, handler);
            handle.invoke(
                    null,
                    signal.getConstructor(String.class).newInstance("HUP"),
                    Proxy.newProxyInstance(
                            HangUpSignal.class.getClassLoader(),
                            new Class<?>[] {handler},
                            (proxy, method, arguments) ->
                                    answer(action, proxy, method, arguments)));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this JDK has no signals", e);
        }
    }

    @SuppressWarnings("ReferenceEquality") // that is what Object's equals is
    private static Object answer(Runnable action, Object proxy, Method method, Object[] arguments) {
        return switch (method.getName()) {
            case "hashCode" -> System.identityHashCode(proxy);
            case "equals" -> proxy == arguments[0];
            case "toString" -> "SIGHUP";
            default -> {
                action.run();
                yield 0;
            }
        };
    }
}
