package skein;

import static skein.Json.map;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.TopicAuthorizationException;

/**
 * What a client meets that may read and write {@code open}, read in the group {@code mine} and write as {@code mine}, and
 * nothing else. {@code --direct} is a bootstrap address at which everything may be done.
 */
final class Rules {
    private Rules() {
    }

    static Object run(Session session) throws Exception {
        Properties direct = session.with(Map.of("bootstrap.servers", session.option("direct")));
        String open = session.name("open");
        String secret = session.name("secret");
        try (Admin admin = Admin.create(direct)) {
            Session.get(admin.createTopics(List.of(topic(open), topic(secret))).all());
            for (String name : List.of(open, secret)) {
                Session.until("topic " + name, () -> Session.get(admin.describeTopics(List.of(name)).allTopicNames())
                        .get(name).partitions().stream().allMatch(partition -> partition.leader() != null));
            }
            Map<String, Object> results = new TreeMap<>();
            results.put("produce", produce(session, open, secret));
            results.put("transactions", transactions(session, open, secret));
            results.put("consume", consume(session, open, secret));
            results.put("admin", admin(session, open, secret));
            TopicPartition end = new TopicPartition(secret, 0);
            results.put("written", Session.get(admin.listOffsets(Map.of(end, OffsetSpec.latest())).all()).get(end).offset());
            return map("rules", results);
        }
    }

    private static NewTopic topic(String name) {
        return new NewTopic(name, 1, (short) 1);
    }

    private static ProducerRecord<byte[], byte[]> record(String topic) {
        return new ProducerRecord<>(topic, 0, null, Records.bytes("value"));
    }

    private static Object produce(Session session, String open, String secret) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = session.producer(Map.of("linger.ms", 200))) {
            Session.get(producer.send(record(open)));
            // Metadata refuses it.
            String unknown = Session.error(producer.send(record(secret)));
            return map("open", "no error", "secret", unknown, "again", Session.error(producer.send(record(open))));
        }
    }

    private static Object transactions(Session session, String open, String secret) throws Exception {
        Map<String, Object> results = new TreeMap<>();
        try (KafkaProducer<byte[], byte[]> theirs = session.producer(Map.of("transactional.id", session.name("theirs")))) {
            results.put("theirs", failure(() -> {
                theirs.initTransactions();
                return null;
            }));
        }
        try (KafkaProducer<byte[], byte[]> mine = session.producer(Map.of("transactional.id", session.name("mine")))) {
            mine.initTransactions();
            mine.beginTransaction();
            Session.get(mine.send(record(open)));
            mine.commitTransaction();
            mine.beginTransaction();
            results.put("secret", Session.error(mine.send(record(secret))));
            mine.abortTransaction();
            mine.beginTransaction();
            Session.get(mine.send(record(open)));
            mine.commitTransaction();
            results.put("open", "no error");
        }
        return results;
    }

    private static String failure(Callable<?> call) {
        return Session.error(call);
    }

    private static Object consume(Session session, String open, String secret) throws Exception {
        Map<String, Object> results = new TreeMap<>();
        try (KafkaConsumer<byte[], byte[]> consumer = session.consumer(Map.of("group.id", session.name("theirs")))) {
            consumer.subscribe(List.of(open));
            results.put("their group", failure(() -> polled(consumer, 1)));
        }
        try (KafkaConsumer<byte[], byte[]> consumer = session.consumer(Map.of("group.id", session.name("mine")))) {
            consumer.subscribe(List.of(open));
            results.put("my group", polled(consumer, 4));
            consumer.commitSync();
            TopicPartition other = new TopicPartition(secret, 0);
            results.put("commit", failure(() -> {
                consumer.commitSync(Map.of(other, new OffsetAndMetadata(0)));
                return null;
            }));
        }
        try (KafkaConsumer<byte[], byte[]> consumer = session.consumer(Map.of("group.id", session.name("mine")))) {
            consumer.subscribe(List.of(secret, open));
            results.put("subscribed", refused(session, consumer));
        }
        try (KafkaConsumer<byte[], byte[]> consumer = session.consumer(Map.of())) {
            List<TopicPartition> both = List.of(new TopicPartition(open, 0), new TopicPartition(secret, 0));
            consumer.assign(both);
            consumer.seekToBeginning(both);
            results.put("assigned", refused(session, consumer));
            consumer.assign(both.subList(0, 1));
            consumer.seekToBeginning(both.subList(0, 1));
            results.put("without", polled(consumer, 4));
            results.put("topics", owned(session, consumer.listTopics().keySet()));
        }
        return results;
    }

    /** The values that come, until there are so many. */
    private static Object polled(KafkaConsumer<byte[], byte[]> consumer, int count) throws Exception {
        List<String> values = new ArrayList<>();
        Session.until("records", () -> {
            consumer.poll(Duration.ofMillis(100)).forEach(record -> values.add(new String(record.value())));
            return values.size() >= count;
        });
        return values;
    }

    /** The topics that are refused, by name. */
    private static Object refused(Session session, KafkaConsumer<byte[], byte[]> consumer) throws Exception {
        Set<String> names = new TreeSet<>();
        Session.until("a refusal", () -> {
            try {
                consumer.poll(Duration.ofMillis(100));
            } catch (TopicAuthorizationException failure) {
                names.addAll(failure.unauthorizedTopics());
            }
            return !names.isEmpty();
        });
        return owned(session, names);
    }

    private static Object owned(Session session, Set<String> names) {
        return names.stream().filter(session::owns).map(session::own).sorted().toList();
    }

    private static Object admin(Session session, String open, String secret) throws Exception {
        Map<String, Object> results = new TreeMap<>();
        ConfigResource config = new ConfigResource(ConfigResource.Type.TOPIC, secret);
        AlterConfigOp set = new AlterConfigOp(new ConfigEntry("retention.ms", "1000"), AlterConfigOp.OpType.SET);
        TopicPartition partition = new TopicPartition(secret, 0);
        try (Admin admin = session.admin()) {
            results.put("topics", owned(session, Session.get(admin.listTopics().names())));
            results.put("describe", Session.error(admin.describeTopics(List.of(secret)).allTopicNames()));
            results.put("missing", Session.error(admin.describeTopics(List.of(session.name("none"))).allTopicNames()));
            results.put("create", Session.error(admin.createTopics(List.of(topic(session.name("new")))).all()));
            results.put("delete", Session.error(admin.deleteTopics(List.of(secret)).all()));
            results.put("delete mine", Session.error(admin.deleteTopics(List.of(open)).all()));
            results.put("configs", Session.error(admin.describeConfigs(List.of(config)).all()));
            results.put("alter", Session.error(admin.incrementalAlterConfigs(Map.of(config, List.of(set))).all()));
            results.put("offsets", Session.error(admin.listOffsets(Map.of(partition, OffsetSpec.latest())).all()));
            results.put("records", Session.error(
                    admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(0))).all()));
            results.put("groups", Session.get(admin.listGroups().all()).stream()
                    .map(group -> group.groupId()).filter(session::owns).map(session::own).sorted().toList());
            results.put("their group", Session.error(
                    admin.describeConsumerGroups(List.of(session.name("theirs"))).all()));
            results.put("acls", Session.error(admin.describeAcls(AclBindingFilter.ANY).values()));
            results.put("cluster", Session.error(admin.describeCluster().nodes()));
            results.put("quotas", Session.error(admin.describeClientQuotas(
                    org.apache.kafka.common.quota.ClientQuotaFilter.all()).entities()));
        }
        return results;
    }
}
