package skein;

import static skein.Json.map;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Getting in: a topic, some records, and a group that reads them and commits. */
final class Connect {
    private static final int PARTITIONS = 2;
    private static final int RECORDS = 20;

    private Connect() {
    }

    static Object run(Session session) throws Exception {
        String topic = session.topic("connect", PARTITIONS);
        List<Object> written = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer = session.producer(Map.of())) {
            for (int number = 0; number < RECORDS; number++) {
                var record = new ProducerRecord<byte[], byte[]>(topic, number % PARTITIONS, null,
                        Records.bytes("value " + number));
                written.add(Session.get(producer.send(record)).offset());
            }
        }
        Map<String, List<String>> read = new TreeMap<>();
        int[] count = {0};
        Map<String, Object> committed = new TreeMap<>();
        try (KafkaConsumer<byte[], byte[]> consumer = session.consumer(Map.of("group.id", session.name("connect")))) {
            consumer.subscribe(List.of(topic));
            Session.until("all records", () -> {
                consumer.poll(Duration.ofMillis(200)).forEach(record -> {
                    count[0]++;
                    read.computeIfAbsent(String.valueOf(record.partition()), partition -> new ArrayList<>())
                            .add(new String(record.value(), StandardCharsets.UTF_8));
                });
                return count[0] >= RECORDS;
            });
            consumer.commitSync();
            consumer.committed(consumer.assignment()).forEach((partition, place) ->
                    committed.put(String.valueOf(partition.partition()), place.offset()));
        }
        return map("connect", map("written", written, "read", read, "committed", committed));
    }
}
