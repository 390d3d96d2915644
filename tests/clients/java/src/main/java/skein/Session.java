package skein;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** What a run was called with, and the clients it makes. */
final class Session {
    static final long SECONDS = 60;
    /** Room for a record of 20 MB. */
    private static final int LARGE = 32 << 20;

    private final Map<String, String> options = new HashMap<>();
    private final Properties properties = new Properties();

    private Session() {
    }

    static Session of(String[] arguments) {
        Session session = new Session();
        for (int at = 1; at + 1 < arguments.length; at += 2) {
            String value = arguments[at + 1];
            if (arguments[at].equals("--property")) {
                int equals = value.indexOf('=');
                session.properties.put(value.substring(0, equals), value.substring(equals + 1));
            } else {
                session.options.put(arguments[at].substring(2), value);
            }
        }
        session.properties.put("bootstrap.servers", session.option("bootstrap"));
        session.properties.putAll(Security.properties());
        return session;
    }

    String option(String name) {
        String value = options.get(name);
        if (value == null) {
            throw new IllegalArgumentException("--" + name + " is missing");
        }
        return value;
    }

    String option(String name, String otherwise) {
        return options.getOrDefault(name, otherwise);
    }

    /** The name of a topic, group or transactional id of this run. */
    String name(String own) {
        return option("prefix") + own;
    }

    /** A name without the prefix of this run. */
    String own(String name) {
        return name == null ? null : name.replace(option("prefix"), "");
    }

    /** Whether a topic or a group is of this run. */
    boolean owns(String name) {
        return name.startsWith(option("prefix"));
    }

    /** The properties of the run, and more. */
    Properties with(Map<String, ?> more) {
        Properties all = new Properties();
        all.putAll(properties);
        more.forEach((key, value) -> all.put(key, value.toString()));
        return all;
    }

    Admin admin() {
        return Admin.create(with(Map.of()));
    }

    KafkaProducer<byte[], byte[]> producer(Map<String, ?> more) {
        Map<String, Object> all = new HashMap<>(Map.of("max.request.size", LARGE, "buffer.memory", 2L * LARGE));
        all.putAll(more);
        return new KafkaProducer<>(with(all), new ByteArraySerializer(), new ByteArraySerializer());
    }

    KafkaConsumer<byte[], byte[]> consumer(Map<String, ?> more) {
        Map<String, Object> all = new HashMap<>(Map.of(
                "max.partition.fetch.bytes", LARGE, "enable.auto.commit", false, "auto.offset.reset", "earliest",
                // Closing waits for the fetch that is under way.
                "fetch.max.wait.ms", 100));
        all.putAll(more);
        return new KafkaConsumer<>(with(all), new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    KafkaShareConsumer<byte[], byte[]> shareConsumer(Map<String, ?> more) {
        return new KafkaShareConsumer<>(with(more), new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** Creates a topic with the cluster's own replication factor and returns its whole name. */
    String topic(String own, int partitions, Map<String, String> configs) throws Exception {
        String name = name(own);
        NewTopic topic = new NewTopic(name, java.util.Optional.of(partitions), java.util.Optional.empty());
        try (Admin admin = admin()) {
            get(admin.createTopics(List.of(topic.configs(configs))).all());
            // Until every broker that may be asked knows it.
            until("topic " + own, () -> get(admin.describeTopics(List.of(name)).allTopicNames())
                    .get(name).partitions().stream().allMatch(partition -> partition.leader() != null));
        }
        return name;
    }

    String topic(String own, int partitions) throws Exception {
        return topic(own, partitions, Map.of());
    }

    static <T> T get(Future<T> future) throws Exception {
        return future.get(SECONDS, TimeUnit.SECONDS);
    }

    /** The class name of what a future or a call fails with, or "no error". */
    static String error(Callable<?> call) {
        try {
            call.call();
            return "no error";
        } catch (ExecutionException failure) {
            return failure.getCause().getClass().getSimpleName();
        } catch (Exception failure) {
            return failure.getClass().getSimpleName();
        }
    }

    static String error(Future<?> future) {
        return error(() -> get(future));
    }

    /** The first answer that is none of "try again": a broker may not have heard yet of what another has made. */
    static <T> T settled(String what, Callable<T> question) throws Exception {
        AtomicReference<T> answer = new AtomicReference<>();
        until(what, () -> {
            try {
                answer.set(question.call());
                return true;
            } catch (ExecutionException failure) {
                if (failure.getCause() instanceof RetriableException) {
                    return false;
                }
                throw new IllegalStateException(what, failure);
            }
        });
        return answer.get();
    }

    /** Asks again until it is so, also while asking fails. */
    static void until(String what, Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + Duration.ofSeconds(SECONDS).toNanos();
        Exception last = null;
        while (System.nanoTime() < end) {
            try {
                if (condition.call()) {
                    return;
                }
                last = null;
            } catch (ExecutionException failure) {
                last = failure;
            }
            Thread.sleep(50);
        }
        throw new IllegalStateException(what + ": not within " + SECONDS + " s", last);
    }
}
