package skein;

import static skein.Json.map;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;

/** Idempotent producers with many small batches in flight: every record once, in the order of the calls. */
final class Idempotent {
    private static final int PARTITIONS = 3;
    private static final int PRODUCERS = 2;
    private static final int RECORDS = 3_000;

    private Idempotent() {
    }

    static Object run(Session session) throws Exception {
        String topic = session.topic("idempotent", PARTITIONS);
        List<Boolean> acknowledged = new ArrayList<>();
        for (int number = 0; number < PRODUCERS; number++) {
            acknowledged.add(write(session, topic, number));
        }
        Map<String, List<String>> read = new TreeMap<>();
        Map<String, Long> ends = new TreeMap<>();
        try (KafkaConsumer<byte[], byte[]> consumer = session.consumer(Map.of())) {
            List<TopicPartition> partitions = Records.partitions(topic, PARTITIONS);
            consumer.assign(partitions);
            Records.drain(consumer, record -> read.computeIfAbsent(String.valueOf(record.partition()),
                    partition -> new ArrayList<>()).add(record.offset() + "=" + Records.shown(record.value())));
            consumer.endOffsets(partitions).forEach((partition, end) ->
                    ends.put(String.valueOf(partition.partition()), end));
        }
        Map<String, Object> ordered = new TreeMap<>();
        read.forEach((partition, values) ->
                ordered.put(partition, values.equals(expected(Integer.parseInt(partition)))));
        return map("idempotent", map("offsets-rise", acknowledged, "ordered", ordered, "ends", ends));
    }

    private static boolean write(Session session, String topic, int producerNumber) throws Exception {
        Map<String, Object> configs = Map.of("enable.idempotence", true, "acks", "all", "batch.size", 500,
                "linger.ms", 0, "max.in.flight.requests.per.connection", 5);
        try (KafkaProducer<byte[], byte[]> producer = session.producer(configs)) {
            List<Future<RecordMetadata>> futures = new ArrayList<>();
            for (int number = 0; number < RECORDS; number++) {
                byte[] value = Records.bytes(value(producerNumber, number));
                futures.add(producer.send(new ProducerRecord<>(topic, number % PARTITIONS, null, value)));
            }
            long[] last = {-1, -1, -1};
            boolean rise = true;
            for (Future<RecordMetadata> future : futures) {
                RecordMetadata data = Session.get(future);
                rise &= data.offset() > last[data.partition()];
                last[data.partition()] = data.offset();
            }
            return rise;
        }
    }

    private static String value(int producer, int number) {
        return "producer " + producer + " record " + number;
    }

    private static List<String> expected(int partition) {
        List<String> values = new ArrayList<>();
        for (int producer = 0; producer < PRODUCERS; producer++) {
            for (int number = partition; number < RECORDS; number += PARTITIONS) {
                values.add(values.size() + "='" + value(producer, number) + "'");
            }
        }
        return values;
    }
}
