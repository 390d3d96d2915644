package skein;

import static skein.Json.map;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;

/** Every kind of acknowledgement under every codec; odd and large records; all of it read back. */
final class Produce {
    private static final List<String> ACKS = List.of("0", "1", "all");
    private static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
    private static final int MEGABYTE = 1_000_000;

    private Produce() {
    }

    static Object run(Session session) throws Exception {
        Map<String, Object> written = new TreeMap<>();
        Map<String, Object> read = new TreeMap<>();
        codecs(session, written, read);
        large(session, written, read);
        appendTime(session, written, read);
        written.put("errors", errors(session));
        return map("produce", written, "consume", read);
    }

    /** One topic per codec, one partition per kind of acknowledgement. */
    private static void codecs(Session session, Map<String, Object> written, Map<String, Object> read)
            throws Exception {
        for (String codec : CODECS) {
            String topic = session.topic(codec, ACKS.size());
            Map<String, Object> acknowledged = new TreeMap<>();
            // A leader that has not heard of its partition yet drops what wants no acknowledgement.
            awaitEnds(session, topic, 0);
            for (String acks : ACKS) {
                Map<String, Object> configs = Map.of("acks", acks, "compression.type", codec,
                        "enable.idempotence", false, "linger.ms", 5);
                acknowledged.put(acks, send(session, configs, Records.odd(topic, ACKS.indexOf(acks))));
            }
            // Without all acknowledgements, a producer may close before the records are where consumers see them.
            awaitEnds(session, topic, Records.odd(topic, 0).size());
            written.put(codec, acknowledged);
            read.put(codec, Records.all(session, topic, ACKS.size(), Map.of()));
        }
    }

    /** The offset and timestamp of each acknowledgement. */
    private static List<String> send(Session session, Map<String, ?> configs,
            List<ProducerRecord<byte[], byte[]>> records) throws Exception {
        List<String> acknowledged = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer = session.producer(configs)) {
            List<Future<RecordMetadata>> futures = new ArrayList<>();
            for (ProducerRecord<byte[], byte[]> record : records) {
                futures.add(producer.send(record));
            }
            for (Future<RecordMetadata> future : futures) {
                RecordMetadata data = Session.get(future);
                acknowledged.add(session.own(data.topic()) + "-" + data.partition() + "@"
                        + (data.hasOffset() ? data.offset() : "none") + " " + data.timestamp());
            }
        }
        return acknowledged;
    }

    private static void awaitEnds(Session session, String topic, long end) throws Exception {
        List<TopicPartition> partitions = Records.partitions(topic, ACKS.size());
        try (var consumer = session.consumer(Map.of())) {
            Session.until("all records", () ->
                    consumer.endOffsets(partitions).values().stream().allMatch(found -> found >= end));
        }
    }

    /** Records of 1 MB under every codec, of 20 MB under some: a slow codec shows nothing more with the larger. */
    private static void large(Session session, Map<String, Object> written, Map<String, Object> read)
            throws Exception {
        Map<String, Object> results = new TreeMap<>();
        String topic = session.topic("large", CODECS.size());
        for (String codec : CODECS) {
            int partition = CODECS.indexOf(codec);
            List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
            for (int number = 0; number < 2; number++) {
                byte[] value = Records.noise(MEGABYTE, partition * 10 + number);
                records.add(new ProducerRecord<>(topic, partition, Records.TIME, Records.bytes("1 MB"), value));
            }
            if (!codec.equals("gzip")) {
                byte[] value = Records.noise(20 * MEGABYTE, partition);
                records.add(new ProducerRecord<>(topic, partition, Records.TIME, Records.bytes("20 MB"), value));
            }
            results.put(codec, send(session, Map.of("compression.type", codec), records));
        }
        written.put("large", results);
        read.put("large", Records.all(session, topic, CODECS.size(), Map.of()));
        try (Admin admin = session.admin()) {
            Session.get(admin.deleteTopics(List.of(topic)).all());
        }
    }

    /** A topic whose broker sets the timestamps. */
    private static void appendTime(Session session, Map<String, Object> written, Map<String, Object> read)
            throws Exception {
        String topic = session.topic("append-time", 1, Map.of("message.timestamp.type", "LogAppendTime"));
        long before = System.currentTimeMillis() - 1000;
        try (KafkaProducer<byte[], byte[]> producer = session.producer(Map.of())) {
            byte[] value = Records.bytes("value");
            RecordMetadata data =
                    Session.get(producer.send(new ProducerRecord<>(topic, 0, Records.TIME, null, value)));
            written.put("append-time", map("by-broker", data.timestamp() >= before));
            read.put("append-time", Records.all(session, topic, 1, Map.of()));
        }
    }

    /** What a broker refuses. */
    private static Object errors(Session session) throws Exception {
        String tight = session.topic("tight", 1, Map.of("max.message.bytes", "1000"));
        String compacted = session.topic("compacted", 1, Map.of("cleanup.policy", "compact"));
        Map<String, Object> configs = Map.of("max.block.ms", 2000);
        try (KafkaProducer<byte[], byte[]> producer = session.producer(configs)) {
            ProducerRecord<byte[], byte[]> tooLarge = new ProducerRecord<>(tight, Records.noise(5000, 1));
            ProducerRecord<byte[], byte[]> withoutKey = new ProducerRecord<>(compacted, Records.bytes("value"));
            ProducerRecord<byte[], byte[]> nowhere = new ProducerRecord<>(session.name("absent"), new byte[1]);
            return map("too-large", Session.error(producer.send(tooLarge)),
                    "without-key", Session.error(producer.send(withoutKey)),
                    "no-topic", Session.error(() -> Session.get(producer.send(nowhere))));
        }
    }
}
