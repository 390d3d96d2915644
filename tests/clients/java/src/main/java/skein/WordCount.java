package skein;

import static skein.Json.map;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/** Words are counted by two instances, each record once: under the classic protocol and under that of Streams groups. */
final class WordCount {
    private static final int PARTITIONS = 4;
    /** One for words by partition of the input, one for counts. */
    private static final int TASKS = 2 * PARTITIONS;
    private static final int LINES = 40;
    private static final String[] WORDS = {"the", "quick", "brown", "fox", "the", "lazy", "dog"};

    private WordCount() {
    }

    static Map<String, Object> run(Session session) throws Exception {
        Map<String, Object> exactlyOnce = Map.of("processing.guarantee", "exactly_once_v2");
        Map<String, Object> classic = count(session, "classic", exactlyOnce);
        Map<String, Object> streams = count(session, "streams",
                Map.of("processing.guarantee", "exactly_once_v2", "group.protocol", "streams"));
        return map("transactions", classic.remove("output"), "cooperative", classic.remove("group"),
                "topics", classic.remove("topics"), "delete-records", classic.remove("purged"),
                "streams", streams);
    }

    private static Map<String, Object> count(Session session, String own, Map<String, ?> configs) throws Exception {
        String in = session.topic(own + "-lines", PARTITIONS);
        String out = session.topic(own + "-counts", PARTITIONS);
        Topology topology = topology(in, out);
        try (Admin admin = session.admin(); Stream first = new Stream(session, own, topology, configs)) {
            write(session, in, 0);
            Stream.await(session, out, PARTITIONS, LINES * WORDS.length);
            int alone = first.tasks();
            try (Stream second = new Stream(session, own, topology, configs)) {
                Session.until("tasks for both", () -> first.tasks() == TASKS / 2 && second.tasks() == TASKS / 2);
                write(session, in, LINES);
                Stream.await(session, out, PARTITIONS, 2 * LINES * WORDS.length);
            }
            Session.until("all tasks again", () -> first.tasks() == TASKS);
            Map<String, Object> results = map("group", map("alone", alone, "committed", committed(admin, session, own)),
                    "output", output(session, out), "topics", internal(admin, session, own));
            results.put("purged", purged(session, session.name(own) + "-words-repartition"));
            return results;
        }
    }

    private static Topology topology(String in, String out) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(in, Consumed.with(Serdes.String(), Serdes.String()))
                .flatMapValues(line -> Arrays.asList(line.split(" ")))
                .map((key, word) -> KeyValue.pair(word, word))
                .groupByKey(Grouped.with("words", Serdes.String(), Serdes.String()))
                .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts"))
                        .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
                .toStream().to(out, Produced.with(Serdes.String(), Serdes.Long()));
        return builder.build();
    }

    private static void write(Session session, String topic, int from) throws Exception {
        byte[] line = Records.bytes(String.join(" ", WORDS));
        try (KafkaProducer<byte[], byte[]> producer = session.producer(Map.of())) {
            for (int number = from; number < from + LINES; number++) {
                producer.send(new ProducerRecord<>(topic, number % PARTITIONS, Records.TIME, null, line));
            }
            producer.flush();
        }
    }

    /** The counts of each word in their order, and whether markers of transactions stand among them. */
    private static Object output(Session session, String topic) throws Exception {
        Map<String, Object> results = new TreeMap<>();
        for (String level : List.of("read_committed", "read_uncommitted")) {
            Map<String, List<Long>> counts = new TreeMap<>();
            long[] records = {0};
            try (KafkaConsumer<byte[], byte[]> consumer = session.consumer(Map.of("isolation.level", level));
                    LongDeserializer numbers = new LongDeserializer()) {
                List<TopicPartition> partitions = Records.partitions(topic, PARTITIONS);
                consumer.assign(partitions);
                Records.drain(consumer, record -> {
                    records[0]++;
                    counts.computeIfAbsent(new String(record.key()), word -> new ArrayList<>())
                            .add(numbers.deserialize(topic, record.value()));
                });
                long ends = consumer.endOffsets(partitions).values().stream().mapToLong(Long::longValue).sum();
                results.put(level, map("counts", counts, "records", records[0], "markers", ends > records[0]));
            }
        }
        return results;
    }

    /** What the group has committed of its input. */
    private static Object committed(Admin admin, Session session, String own) throws Exception {
        Map<String, Object> results = new TreeMap<>();
        // The markers that make them visible may come after those of the output.
        Session.until("the offsets", () -> {
            Session.get(admin.listConsumerGroupOffsets(session.name(own)).partitionsToOffsetAndMetadata()).forEach(
                    (partition, place) -> {
                        if (partition.topic().endsWith("-lines")) {
                            results.put(session.own(partition.toString()), place.offset());
                        }
                    });
            return results.values().stream().mapToLong(offset -> (Long) offset).sum() == 2L * LINES;
        });
        return results;
    }

    /** The topics that Streams has made for itself. */
    private static Object internal(Admin admin, Session session, String own) throws Exception {
        List<String> names = Session.get(admin.listTopics().names()).stream()
                .filter(name -> name.startsWith(session.name(own) + "-"))
                .filter(name -> name.endsWith("-repartition") || name.endsWith("-changelog"))
                .sorted().toList();
        Map<String, Object> results = new TreeMap<>();
        Session.get(admin.describeTopics(names).allTopicNames()).forEach((name, topic) ->
                results.put(session.own(name), topic.partitions().size()));
        return results;
    }

    /** Streams deletes the records of its own topic that it has read. */
    private static Object purged(Session session, String topic) throws Exception {
        List<TopicPartition> partitions = Records.partitions(topic, PARTITIONS);
        try (KafkaConsumer<byte[], byte[]> consumer = session.consumer(Map.of())) {
            Session.until("deleted records", () -> consumer.beginningOffsets(partitions).values().stream()
                    .mapToLong(Long::longValue).sum() >= 2L * LINES * WORDS.length);
        }
        return "all that were read";
    }
}
