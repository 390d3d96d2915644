package skein;

import static skein.Json.map;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Transactions: committed, aborted, open, with a group's offsets, and two producers under one id. */
final class Transactions {
    private static final int PARTITIONS = 2;

    private Transactions() {
    }

    static Object run(Session session) throws Exception {
        return map("transactions", map(
                "outcomes", outcomes(session), "offsets", offsets(session), "fenced", fenced(session)));
    }

    private static KafkaProducer<byte[], byte[]> producer(Session session, String own) {
        return session.producer(Map.of("transactional.id", session.name(own)));
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, String topic, String what, int count) {
        for (int number = 0; number < count; number++) {
            byte[] value = Records.bytes(what + " " + number);
            producer.send(new ProducerRecord<>(topic, number % PARTITIONS, Records.TIME, null, value));
        }
        producer.flush();
    }

    /** A commit, an abort, a commit; then one that is open while others read. */
    private static Object outcomes(Session session) throws Exception {
        String topic = session.topic("outcomes", PARTITIONS);
        Map<String, Object> results = new TreeMap<>();
        try (KafkaProducer<byte[], byte[]> producer = producer(session, "outcomes")) {
            producer.initTransactions();
            for (String what : List.of("first commit", "abort", "second commit", "open")) {
                producer.beginTransaction();
                send(producer, topic, what, 6);
                if (what.equals("abort")) {
                    producer.abortTransaction();
                } else if (!what.equals("open")) {
                    producer.commitTransaction();
                    // So that no reader comes before the markers do.
                    awaitStable(session, topic);
                }
            }
            results.put("while-open", ends(session, topic));
            producer.commitTransaction();
            awaitStable(session, topic);
        }
        results.put("after", ends(session, topic));
        for (String level : List.of("read_committed", "read_uncommitted")) {
            results.put(level, Records.all(session, topic, PARTITIONS, Map.of("isolation.level", level)));
        }
        return results;
    }

    private static Map<String, Object> ends(Session session, String topic) {
        Map<String, Object> results = new TreeMap<>();
        for (String level : List.of("read_committed", "read_uncommitted")) {
            try (KafkaConsumer<byte[], byte[]> consumer = session.consumer(Map.of("isolation.level", level))) {
                Map<String, Object> ends = new TreeMap<>();
                consumer.endOffsets(Records.partitions(topic, PARTITIONS)).forEach((partition, end) ->
                        ends.put(String.valueOf(partition.partition()), end));
                results.put(level, ends);
            }
        }
        return results;
    }

    /** Waits until no transaction is open. */
    private static void awaitStable(Session session, String topic) throws Exception {
        Session.until("no open transaction", () -> {
            Map<String, Object> ends = ends(session, topic);
            return ends.get("read_committed").equals(ends.get("read_uncommitted"));
        });
    }

    /** Consume, transform, produce: the group's offsets are part of the transaction. */
    private static Object offsets(Session session) throws Exception {
        String in = session.topic("in", 1);
        String out = session.topic("out", PARTITIONS);
        String group = session.name("transformer");
        Map<String, Object> results = new TreeMap<>();
        try (KafkaProducer<byte[], byte[]> plain = session.producer(Map.of())) {
            for (int number = 0; number < 20; number++) {
                Session.get(plain.send(new ProducerRecord<>(in, 0, null, Records.bytes("in " + number))));
            }
        }
        Map<String, Object> configs = Map.of("group.id", group, "max.poll.records", 10,
                "isolation.level", "read_committed");
        try (KafkaProducer<byte[], byte[]> producer = producer(session, "transformer");
                KafkaConsumer<byte[], byte[]> consumer = session.consumer(configs);
                Admin admin = session.admin()) {
            producer.initTransactions();
            consumer.subscribe(List.of(in));
            transform(producer, consumer, out);
            producer.abortTransaction();
            results.put("after-abort", Groups.committed(admin, group));
            consumer.seekToBeginning(consumer.assignment());
            transform(producer, consumer, out);
            producer.commitTransaction();
            results.put("after-commit", consumer.committed(consumer.assignment()).values().stream()
                    .map(place -> place.offset() + place.metadata()).toList());
        }
        awaitStable(session, out);
        results.put("out", Records.all(session, out, PARTITIONS, Map.of("isolation.level", "read_committed")));
        return results;
    }

    private static void transform(KafkaProducer<byte[], byte[]> producer, KafkaConsumer<byte[], byte[]> consumer,
            String out) throws Exception {
        List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
        Session.until("ten records", () -> {
            consumer.poll(Duration.ofMillis(100)).forEach(records::add);
            return records.size() >= 10;
        });
        producer.beginTransaction();
        Map<TopicPartition, OffsetAndMetadata> offsets = new java.util.HashMap<>();
        for (ConsumerRecord<byte[], byte[]> record : records.subList(0, 10)) {
            int partition = (int) (record.offset() % PARTITIONS);
            producer.send(new ProducerRecord<>(out, partition, Records.TIME, null, record.value()));
            offsets.put(new TopicPartition(record.topic(), record.partition()),
                    new OffsetAndMetadata(record.offset() + 1, "transformed"));
        }
        // An abort drops what has not been sent yet.
        producer.flush();
        producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
    }

    /** A second producer takes the id over: the first one's open transaction is aborted, and its commit refused. */
    private static Object fenced(Session session) throws Exception {
        String topic = session.topic("fenced", PARTITIONS);
        Map<String, Object> results = new TreeMap<>();
        KafkaProducer<byte[], byte[]> first = producer(session, "fenced");
        first.initTransactions();
        first.beginTransaction();
        send(first, topic, "first", 4);
        try (KafkaProducer<byte[], byte[]> second = producer(session, "fenced")) {
            second.initTransactions();
            results.put("first-commit", Session.error(() -> {
                first.commitTransaction();
                return null;
            }));
            first.close(Duration.ofSeconds(5));
            second.beginTransaction();
            send(second, topic, "second", 4);
            second.commitTransaction();
        }
        awaitStable(session, topic);
        results.put("ends", ends(session, topic));
        results.put("read", Records.all(session, topic, PARTITIONS, Map.of("isolation.level", "read_committed")));
        return results;
    }
}
