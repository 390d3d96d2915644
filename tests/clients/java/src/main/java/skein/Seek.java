package skein;

import static skein.Json.map;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Finding a place in a partition: by offset, by time, at its ends, and beyond them. */
final class Seek {
    private static final int RECORDS = 20;

    private Seek() {
    }

    static Object run(Session session) throws Exception {
        String topic = session.topic("seek", 3);
        long now = System.currentTimeMillis();
        fill(session, topic, now);
        Map<String, Object> results = new TreeMap<>();
        try (KafkaConsumer<byte[], byte[]> consumer = session.consumer(Map.of("max.poll.records", 1))) {
            List<TopicPartition> partitions = Records.partitions(topic, 3);
            consumer.assign(partitions.subList(0, 2));
            results.put("partitions", consumer.partitionsFor(topic).size());
            results.put("times", times(consumer, partitions.subList(0, 2)));
            results.put("ends", map("beginning", offsets(consumer.beginningOffsets(partitions)),
                    "end", offsets(consumer.endOffsets(partitions))));
            results.put("positions", positions(consumer, partitions.subList(0, 2)));
            results.put("lag", consumer.currentLag(partitions.get(0)).isPresent());
        }
        results.put("beyond", beyond(session, partition(topic, 0)));
        results.put("two-hours", firstAfter(session, partition(topic, 2), "by_duration:PT2H"));
        results.put("latest", firstAfter(session, partition(topic, 2), "latest"));
        return map("seek", results);
    }

    private static TopicPartition partition(String topic, int index) {
        return new TopicPartition(topic, index);
    }

    /** Partitions 0 and 1: times of long ago, one record a second; partition 2: one record an hour until now. */
    private static void fill(Session session, String topic, long now) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = session.producer(Map.of())) {
            List<Future<?>> futures = new ArrayList<>();
            for (int number = 0; number < RECORDS; number++) {
                byte[] value = Records.bytes("value " + number);
                for (int index = 0; index < 2; index++) {
                    long time = Records.TIME + 1000L * number + index;
                    futures.add(producer.send(new ProducerRecord<>(topic, index, time, null, value)));
                }
                long hours = Duration.ofHours(RECORDS - number).toMillis();
                futures.add(producer.send(new ProducerRecord<>(topic, 2, now - hours + 600_000, null, value)));
            }
            for (Future<?> future : futures) {
                Session.get(future);
            }
        }
    }

    private static Object times(KafkaConsumer<byte[], byte[]> consumer, List<TopicPartition> partitions) {
        Map<String, Object> results = new TreeMap<>();
        for (long delay : List.of(-100_000L, 0L, 1L, 4_999L, 5_000L, 5_001L, 19_001L, 100_000L)) {
            Map<TopicPartition, Long> wanted = new java.util.HashMap<>();
            partitions.forEach(partition -> wanted.put(partition, Records.TIME + delay));
            Map<String, Object> found = new TreeMap<>();
            consumer.offsetsForTimes(wanted).forEach((partition, place) -> found.put(
                    String.valueOf(partition.partition()),
                    place == null ? null : place.offset() + " " + place.timestamp()));
            results.put(String.valueOf(delay), found);
        }
        return results;
    }

    private static Map<String, Object> offsets(Map<TopicPartition, Long> offsets) {
        Map<String, Object> results = new TreeMap<>();
        offsets.forEach((partition, offset) -> results.put(String.valueOf(partition.partition()), offset));
        return results;
    }

    private static Object positions(KafkaConsumer<byte[], byte[]> consumer, List<TopicPartition> partitions)
            throws Exception {
        TopicPartition first = partitions.get(0);
        Map<String, Object> results = new TreeMap<>();
        consumer.seekToBeginning(partitions);
        results.put("beginning", consumer.position(first));
        results.put("beginning-record", next(consumer, partitions));
        consumer.seek(first, 7);
        consumer.pause(partitions.subList(1, 2));
        results.put("seven", next(consumer, partitions.subList(0, 1)));
        consumer.seek(first, 3);
        results.put("three", next(consumer, partitions.subList(0, 1)));
        consumer.resume(partitions.subList(1, 2));
        consumer.seekToEnd(partitions);
        results.put("end", List.of(consumer.position(first), consumer.position(partitions.get(1))));
        consumer.seek(first, RECORDS - 1);
        results.put("last", next(consumer, partitions.subList(0, 1)));
        return results;
    }

    /** The next record of each partition. */
    private static Object next(KafkaConsumer<byte[], byte[]> consumer, List<TopicPartition> partitions)
            throws Exception {
        Map<String, Object> found = new TreeMap<>();
        Session.until("a record of each partition", () -> {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                found.putIfAbsent(String.valueOf(record.partition()), Records.line(record));
            }
            return found.size() == partitions.size();
        });
        return found;
    }

    /** Where a consumer goes from an offset that is out of range, under each policy. */
    private static Object beyond(Session session, TopicPartition partition) {
        Map<String, Object> results = new TreeMap<>();
        for (String policy : List.of("earliest", "latest", "none")) {
            try (KafkaConsumer<byte[], byte[]> consumer = session.consumer(Map.of("auto.offset.reset", policy))) {
                consumer.assign(List.of(partition));
                consumer.seek(partition, 1_000);
                List<Long> places = new ArrayList<>();
                results.put(policy, Session.error(() -> {
                    Session.until("a reset", () -> {
                        consumer.poll(Duration.ofMillis(100)).forEach(record -> places.add(record.offset()));
                        return consumer.position(partition) != 1_000;
                    });
                    // Nothing is there to read, or the reset came with the first records.
                    places.add(consumer.position(partition));
                    return null;
                }));
                results.put(policy + "-first", places.isEmpty() ? null : places.get(0));
            }
        }
        return results;
    }

    /** Where a consumer without a committed offset begins under a policy. */
    private static long firstAfter(Session session, TopicPartition partition, String policy) {
        try (KafkaConsumer<byte[], byte[]> consumer = session.consumer(Map.of("auto.offset.reset", policy))) {
            consumer.assign(List.of(partition));
            return consumer.position(partition);
        }
    }
}
