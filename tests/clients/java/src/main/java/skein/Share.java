package skein;

import static skein.Json.map;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ShareGroupDescription;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;

/**
 * A share group: two members that share partitions, and a member that accepts, releases and rejects. And what a plain
 * consumer makes of a Streams group.
 */
final class Share {
    private static final int PARTITIONS = 3;
    private static final int RECORDS = 90;

    private Share() {
    }

    static Object run(Session session) throws Exception {
        return map("share", map("together", together(session), "answers", answers(session)),
                "streams", Lacking.refused("group.protocol", "streams",
                        config -> session.consumer(config).close()));
    }

    private static String fromTheStart(Session session, String own) throws Exception {
        String group = session.name(own);
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        AlterConfigOp earliest = new AlterConfigOp(
                new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
        try (Admin admin = session.admin()) {
            Session.get(admin.incrementalAlterConfigs(Map.of(resource, List.of(earliest))).all());
        }
        return group;
    }

    private static void fill(Session session, String topic, int partitions, int count) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = session.producer(Map.of())) {
            for (int number = 0; number < count; number++) {
                producer.send(new ProducerRecord<>(topic, number % partitions, null, Records.bytes("v" + number)));
            }
            producer.flush();
        }
    }

    /** Two members accept everything, each record once. */
    private static Object together(Session session) throws Exception {
        String topic = session.topic("share", PARTITIONS);
        String group = fromTheStart(session, "share");
        fill(session, topic, PARTITIONS, RECORDS);
        List<String> seen = new ArrayList<>();
        try (KafkaShareConsumer<byte[], byte[]> first = session.shareConsumer(Map.of("group.id", group));
                KafkaShareConsumer<byte[], byte[]> second = session.shareConsumer(Map.of("group.id", group));
                Admin admin = session.admin()) {
            first.subscribe(List.of(topic));
            second.subscribe(List.of(topic));
            Session.until("all records", () -> {
                for (KafkaShareConsumer<byte[], byte[]> member : List.of(first, second)) {
                    member.poll(Duration.ofMillis(200)).forEach(record -> seen.add(Records.shown(record.value())));
                    member.commitSync();
                }
                return seen.size() >= RECORDS;
            });
            ShareGroupDescription described =
                    Session.get(admin.describeShareGroups(List.of(group)).all()).get(group);
            return map("seen", seen.size(), "distinct", seen.stream().distinct().count(),
                    "members", described.members().size(), "state", described.groupState(),
                    "topics", described.members().stream()
                            .flatMap(member -> member.assignment().topicPartitions().stream())
                            .map(partition -> session.own(partition.topic())).distinct().toList());
        }
    }

    /** Accepted and rejected records do not return; a released one does, with a higher delivery count. */
    private static Object answers(Session session) throws Exception {
        String topic = session.topic("answers", 1);
        String group = fromTheStart(session, "answers");
        fill(session, topic, 1, 3);
        Map<String, Object> deliveries = new TreeMap<>();
        Map<String, Object> configs = Map.of("group.id", group, "share.acknowledgement.mode", "explicit");
        try (KafkaShareConsumer<byte[], byte[]> consumer = session.shareConsumer(configs)) {
            consumer.subscribe(List.of(topic));
            Session.until("four deliveries", () -> {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    int delivery = record.deliveryCount().orElse((short) -1);
                    AcknowledgeType answer = record.offset() == 0 ? AcknowledgeType.REJECT
                            : record.offset() == 1 && delivery == 1 ? AcknowledgeType.RELEASE
                            : AcknowledgeType.ACCEPT;
                    consumer.acknowledge(record, answer);
                    deliveries.put(record.offset() + "/" + delivery, answer);
                }
                consumer.commitSync().forEach((partition, error) -> error.ifPresent(failure ->
                        deliveries.put("error", failure.getClass().getSimpleName())));
                return deliveries.size() >= 4;
            });
        }
        return deliveries;
    }
}
