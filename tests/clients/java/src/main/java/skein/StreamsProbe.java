package skein;

import static skein.Json.map;

import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;

/** Kafka Streams: the command line of {@link Probe}, and what Streams can do. */
public final class StreamsProbe {
    private static final Map<String, Probe.Scenario> SCENARIOS = new TreeMap<>(Map.of(
            "version", session -> map("library", "kafka-streams " + Probe.version()),
            "connect", Copy::run,
            "streams", StreamsProbe::streams));

    private StreamsProbe() {
    }

    public static void main(String[] arguments) {
        Probe.run(arguments, SCENARIOS);
    }

    private static Object streams(Session session) throws Exception {
        Map<String, Object> results = new TreeMap<>(Copy.run(session));
        results.putAll(WordCount.run(session));
        results.put("kip848", refused("group.protocol", "consumer"));
        results.put("share", refused("group.protocol", "share"));
        // Its rebalances are cooperative, except for an upgrade from a version that was eager.
        results.put("eager", refused("upgrade.from", "2.3"));
        Map<String, String[]> methods = Map.ofEntries(
                Map.entry("seek", new String[] {"seek", "offsetsForTimes"}),
                Map.entry("cluster", new String[] {"describeCluster"}),
                Map.entry("configs", new String[] {"describeConfigs", "incrementalAlterConfigs"}),
                Map.entry("partitions", new String[] {"createPartitions", "electLeaders", "listOffsets"}),
                Map.entry("log-dirs", new String[] {"describeLogDirs"}),
                Map.entry("reassignments", new String[] {"alterPartitionReassignments"}),
                Map.entry("groups", new String[] {"describeConsumerGroups", "deleteConsumerGroups"}),
                Map.entry("offsets", new String[] {"alterConsumerGroupOffsets", "listConsumerGroupOffsets"}),
                Map.entry("producers", new String[] {"describeProducers"}),
                Map.entry("list-transactions", new String[] {"listTransactions", "describeTransactions"}),
                Map.entry("quotas", new String[] {"alterClientQuotas", "describeClientQuotas"}),
                Map.entry("features", new String[] {"describeFeatures", "updateFeatures"}));
        methods.forEach((feature, names) -> results.put(feature, Lacking.absent(KafkaStreams.class, names)));
        return results;
    }

    private static Object refused(String key, String value) throws Exception {
        return Lacking.refused(key, value, config -> {
            Map<String, Object> all = new TreeMap<>(config);
            all.put("application.id", "refused");
            all.put("bootstrap.servers", "localhost:1");
            new StreamsConfig(all);
        });
    }
}
