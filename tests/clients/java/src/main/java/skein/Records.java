package skein;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;

/** Records to write, and records as text. */
final class Records {
    /** The first explicit timestamp, in milliseconds; the next ones are a second apart. */
    static final long TIME = 1_700_000_000_000L;

    private Records() {
    }

    static byte[] bytes(String text) {
        return text.getBytes(UTF_8);
    }

    /** Bytes that no codec makes smaller, always the same ones. */
    static byte[] noise(int length, long seed) {
        byte[] bytes = new byte[length];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    /** Every odd shape of a record: null and empty keys, values and header values, and headers that share a key. */
    static List<ProducerRecord<byte[], byte[]>> odd(String topic, int partition) {
        List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
        byte[][] contents = {null, {}, bytes("text"), bytes("Grüße, 世界"), noise(300, 7), new byte[5_000]};
        for (byte[] key : contents) {
            for (byte[] value : contents) {
                records.add(new ProducerRecord<>(topic, partition, TIME + 1000L * records.size(), key, value));
            }
        }
        for (int at = 0; at < records.size(); at += 3) {
            records.get(at).headers().add("twice", bytes("first")).add("other", null).add("twice", bytes("second"))
                    .add("twice", null).add("", new byte[0]).add("ключ", noise(40, at));
        }
        return records;
    }

    static List<TopicPartition> partitions(String topic, int count) {
        return IntStream.range(0, count).mapToObj(index -> new TopicPartition(topic, index)).toList();
    }

    /** All that a topic holds, by partition, as {@link #line} writes it. */
    static Map<String, Object> all(Session session, String topic, int count, Map<String, ?> more) {
        Map<String, Object> lines = new TreeMap<>();
        try (KafkaConsumer<byte[], byte[]> consumer = session.consumer(more)) {
            List<TopicPartition> partitions = partitions(topic, count);
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            partitions.forEach(partition -> lines.put(String.valueOf(partition.partition()), new ArrayList<String>()));
            drain(consumer, record -> {
                @SuppressWarnings("unchecked")
                List<String> list = (List<String>) lines.get(String.valueOf(record.partition()));
                list.add(line(record));
            });
        }
        return lines;
    }

    /** Reads the assigned partitions up to where they end when it is called. */
    static void drain(Consumer<byte[], byte[]> consumer,
            java.util.function.Consumer<ConsumerRecord<byte[], byte[]>> to) {
        Map<TopicPartition, Long> ends = consumer.endOffsets(consumer.assignment());
        long limit = System.nanoTime() + Duration.ofSeconds(Session.SECONDS).toNanos();
        while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
            if (System.nanoTime() > limit) {
                throw new IllegalStateException("the end was not reached: " + ends);
            }
            consumer.poll(Duration.ofMillis(200)).forEach(to);
        }
    }

    static String line(ConsumerRecord<byte[], byte[]> record) {
        List<String> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            headers.add(header.key() + "=" + shown(header.value()));
        }
        boolean clients = record.timestampType().toString().equals("CreateTime");
        return record.offset() + " " + record.timestampType() + (clients ? " " + record.timestamp() : "")
                + " key=" + shown(record.key()) + " value=" + shown(record.value()) + " headers=" + headers
                + (record.leaderEpoch().isPresent() ? "" : " without epoch");
    }

    /** Short printable contents as they are, others as length and hash. */
    static String shown(byte[] bytes) {
        if (bytes == null) {
            return "null";
        }
        String text = new String(bytes, UTF_8);
        boolean printable = text.length() < 40 && text.chars().allMatch(c -> c >= ' ' && c != 0xfffd);
        return printable ? "'" + text + "'" : bytes.length + ":" + hash(bytes);
    }

    private static String hash(byte[] bytes) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(bytes);
            return HexFormat.of().formatHex(digest, 0, 8);
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
