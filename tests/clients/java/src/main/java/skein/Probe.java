package skein;

import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;

/**
 * Runs one scenario against a cluster, or against a proxy in front of one, and prints what it saw as a line of JSON.
 *
 * <p>Usage: {@code skein.Probe SCENARIO --bootstrap HOST:PORT --prefix P [--property k=v]... [--OPTION VALUE]...}
 *
 * <p>Nothing in the line depends on the run: names come without the prefix, and no address, id or clock is in it.
 */
public final class Probe {
    /** One scenario; what it returns is printed. */
    interface Scenario {
        Object run(Session session) throws Exception;
    }

    private static final Map<String, Scenario> SCENARIOS = new TreeMap<>(Map.ofEntries(
            Map.entry("version", session -> Json.map("library", "kafka-clients " + version())),
            Map.entry("produce", Produce::run),
            Map.entry("seek", Seek::run),
            Map.entry("classic", Groups::classic),
            Map.entry("kip848", Groups::kip848),
            Map.entry("idempotent", Idempotent::run),
            Map.entry("transactions", Transactions::run),
            Map.entry("admin", Admins::run),
            Map.entry("share", Share::run),
            Map.entry("rules", Rules::run),
            Map.entry("login", Probe::login),
            Map.entry("connect", Connect::run),
            Map.entry("stay", Stay::run),
            Map.entry("produce-load", Load::produce),
            Map.entry("drain", Load::drain)));

    private Probe() {
    }

    /** Ends with code 0 and one line, or with code 1 and a stack trace, or with code 2 if it was called wrongly. */
    public static void main(String[] arguments) {
        run(arguments, SCENARIOS);
    }

    static void run(String[] arguments, Map<String, Scenario> scenarios) {
        Scenario scenario = arguments.length == 0 ? null : scenarios.get(arguments[0]);
        if (scenario == null) {
            System.err.println("the first argument has to be one of " + scenarios.keySet());
            System.exit(2);
        }
        try {
            System.out.println(Json.text(scenario.run(Session.of(arguments))));
            System.out.flush();
            // Halts instead of leaving: a client thread that hangs must not keep the program.
            Runtime.getRuntime().halt(0);
        } catch (Throwable failure) {
            failure.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    /** The version that Kafka's own jars say they have. */
    static String version() throws IOException {
        Properties known = new Properties();
        try (InputStream file = Probe.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            known.load(file);
        }
        return known.getProperty("version");
    }

    /** One question to the cluster: does it let us in? */
    private static Object login(Session session) {
        try (Admin admin = session.admin()) {
            return Json.map("login", Session.error(admin.describeCluster().nodes()));
        }
    }
}
