package skein;

import static skein.Json.map;

import java.io.BufferedWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Writing through outages, and reading everything back.
 *
 * <p>Options of both: {@code --topic T} (the whole name), {@code --out FILE} (one id per line). Of the writer: {@code
 * --until FILE} (it stops when that file is there), {@code --rate N} (records per second) and {@code --partitions N}
 * (it creates the topic).
 */
final class Load {
    private Load() {
    }

    /** Writes records with ids from 0, and to the file each id whose write was acknowledged, at once. */
    static Object produce(Session session) throws Exception {
        String topic = session.option("topic");
        create(session, topic, Integer.parseInt(session.option("partitions", "6")));
        Path until = Path.of(session.option("until"));
        long rate = Long.parseLong(session.option("rate", "300"));
        long id = 0;
        AtomicLong failed = new AtomicLong();
        AtomicLong acknowledged = new AtomicLong();
        Map<String, Object> configs = Map.of("enable.idempotence", true, "acks", "all", "linger.ms", 5,
                "delivery.timeout.ms", 300_000, "request.timeout.ms", 10_000, "max.block.ms", 300_000,
                "reconnect.backoff.max.ms", 500);
        try (BufferedWriter out = Files.newBufferedWriter(Path.of(session.option("out")));
                KafkaProducer<byte[], byte[]> producer = session.producer(configs)) {
            long start = System.nanoTime();
            for (; !Files.exists(until); id++) {
                LockSupport.parkNanos(start + id * 1_000_000_000L / rate - System.nanoTime());
                String text = Long.toString(id);
                producer.send(new ProducerRecord<>(topic, Records.bytes(text), Records.bytes(text)), (data, error) -> {
                    if (error == null) {
                        acknowledged.incrementAndGet();
                        write(out, text);
                    } else {
                        failed.incrementAndGet();
                        System.err.println("record " + text + ": " + error);
                    }
                });
            }
            producer.flush();
        }
        return map("sent", id, "acknowledged", acknowledged.get(), "failed", failed.get());
    }

    /** Reads a topic up to its end; writes to the file the id of each record, as often as it is there. */
    static Object drain(Session session) throws Exception {
        String topic = session.option("topic");
        AtomicLong count = new AtomicLong();
        try (BufferedWriter out = Files.newBufferedWriter(Path.of(session.option("out")));
                KafkaConsumer<byte[], byte[]> consumer = session.consumer(Map.of())) {
            consumer.assign(Records.partitions(topic, consumer.partitionsFor(topic).size()));
            Records.drain(consumer, record -> {
                count.incrementAndGet();
                write(out, new String(record.value(), java.nio.charset.StandardCharsets.UTF_8));
            });
        }
        return map("records", count.get());
    }

    private static void create(Session session, String topic, int partitions) throws Exception {
        try (Admin admin = session.admin()) {
            var wanted = new org.apache.kafka.clients.admin.NewTopic(topic, java.util.Optional.of(partitions),
                    java.util.Optional.empty());
            Session.get(admin.createTopics(java.util.List.of(wanted)).all());
        }
    }

    private static void write(BufferedWriter out, String line) {
        try {
            out.write(line);
            out.newLine();
            out.flush();
        } catch (java.io.IOException failure) {
            throw new java.io.UncheckedIOException(failure);
        }
    }
}
