package skein;

import static skein.Json.map;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Staying for longer than a login lasts: writing all the while, and a group that reads it and commits.
 *
 * <p>{@code --seconds N} says how long.
 */
final class Stay {
    private Stay() {
    }

    static Object run(Session session) throws Exception {
        String topic = session.topic("stay", 2);
        Set<String> answers = new TreeSet<>();
        Set<String> errors = new TreeSet<>();
        Set<String> read = new HashSet<>();
        int[] number = {0};
        try (KafkaProducer<byte[], byte[]> producer = session.producer(Map.of());
                KafkaConsumer<byte[], byte[]> consumer = session.consumer(Map.of("group.id", session.name("stay")))) {
            consumer.subscribe(List.of(topic));
            long end = System.nanoTime() + Duration.ofSeconds(Long.parseLong(session.option("seconds"))).toNanos();
            while (System.nanoTime() < end) {
                var record = new ProducerRecord<byte[], byte[]>(topic, number[0] % 2, null,
                        Records.bytes(String.valueOf(number[0])));
                answers.add(Session.error(producer.send(record)));
                number[0]++;
                look(consumer, read, errors);
            }
            Session.until("all records", () -> {
                look(consumer, read, errors);
                return read.size() >= number[0];
            });
        }
        return map("stay", map("answers", answers, "errors", errors, "read", read.size() == number[0]));
    }

    private static void look(KafkaConsumer<byte[], byte[]> consumer, Set<String> read, Set<String> errors) {
        String outcome = Session.error(() -> {
            ConsumerRecords<byte[], byte[]> found = consumer.poll(Duration.ofMillis(50));
            found.forEach(record -> read.add(Records.shown(record.value())));
            consumer.commitSync();
            return null;
        });
        if (!outcome.equals("no error")) {
            errors.add(outcome);
        }
    }
}
