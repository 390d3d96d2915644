package skein;

import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KafkaStreams.State;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.ThreadMetadata;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

/** One instance of an application. */
final class Stream implements AutoCloseable {
    private final KafkaStreams streams;
    private volatile Throwable failure;

    Stream(Session session, String application, Topology topology, Map<String, ?> configs) {
        Properties properties = session.with(configs);
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, session.name(application));
        properties.put(StreamsConfig.STATE_DIR_CONFIG, "state-" + System.identityHashCode(this));
        properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "100");
        // Every update of a count comes out.
        properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, "0");
        properties.put("main.consumer.auto.offset.reset", "earliest");
        properties.put("main.consumer.fetch.max.wait.ms", "100");
        properties.put(StreamsConfig.REPARTITION_PURGE_INTERVAL_MS_CONFIG, "100");
        streams = new KafkaStreams(topology, properties);
        streams.setUncaughtExceptionHandler(thrown -> {
            failure = thrown;
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
    }

    /** How many tasks it has now. */
    int tasks() {
        if (failure != null) {
            throw new IllegalStateException("a stream failed", failure);
        }
        return streams.state() != State.RUNNING ? 0 : streams.metadataForLocalThreads().stream()
                .map(ThreadMetadata::activeTasks).mapToInt(java.util.Set::size).sum();
    }

    @Override
    public void close() {
        if (!streams.close(new KafkaStreams.CloseOptions().timeout(Duration.ofSeconds(Session.SECONDS)).leaveGroup(true))) {
            throw new IllegalStateException("a stream did not end");
        }
    }

    /** Waits until a reader of committed records sees so many in a topic. */
    static void await(Session session, String topic, int partitions, int count) throws Exception {
        int[] found = {0};
        try (KafkaConsumer<byte[], byte[]> consumer = session.consumer(Map.of("isolation.level", "read_committed"))) {
            consumer.assign(Records.partitions(topic, partitions));
            Session.until(count + " records", () -> {
                found[0] += consumer.poll(Duration.ofMillis(200)).count();
                return found[0] >= count;
            });
        }
    }
}
