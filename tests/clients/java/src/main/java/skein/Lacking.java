package skein;

import static skein.Json.map;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigException;

/**
 * What a library cannot do, shown by looking for it. A probe never says so by itself: once the library has it, the scenario
 * fails, and wants to be extended.
 */
final class Lacking {
    /** Makes a client with a configuration, and ends it. */
    interface Make {
        void with(Map<String, String> config) throws Exception;
    }

    private Lacking() {
    }

    /** That a class has no public method of these names. */
    static Object absent(Class<?> type, String... methods) {
        List<String> wanted = List.of(methods);
        List<String> present = Arrays.stream(type.getMethods()).map(java.lang.reflect.Method::getName)
                .filter(wanted::contains).distinct().toList();
        if (!present.isEmpty()) {
            throw new AssertionError(type.getSimpleName() + " has " + present + " now: probe it");
        }
        return map("lacks", type.getSimpleName() + " has no " + String.join(" or ", wanted));
    }

    /** That the library refuses a configuration before it asks a broker. */
    static Object refused(String key, String value, Make make) throws Exception {
        try {
            make.with(Map.of(key, value));
        } catch (RuntimeException failure) {
            Throwable refusal = failure.getCause() instanceof ConfigException ? failure.getCause() : failure;
            if (refusal instanceof ConfigException && refusal.getMessage().contains(key)) {
                return map("lacks", key + "=" + value + " is refused: ConfigException");
            }
            throw failure;
        }
        throw new AssertionError(key + "=" + value + " is accepted now: probe it");
    }
}
