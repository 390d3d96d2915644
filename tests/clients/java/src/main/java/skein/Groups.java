package skein;

import static skein.Json.map;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Pattern;
import java.time.Duration;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Consumer groups of both protocols: members join and leave while records arrive, and each record is seen once. */
final class Groups {
    private static final int PARTITIONS = 6;
    private static final int BATCH = 60;

    private Groups() {
    }

    static Object classic(Session session) throws Exception {
        Map<String, Object> eager = new TreeMap<>(story(session, "range", assignor(session, "range", "Range")));
        eager.put("commits", commits(session, Map.of("group.id", session.name("commits"))));
        eager.put("pattern", pattern(session, Map.of("group.id", session.name("pattern"))));
        return map("eager", eager, "cooperative",
                story(session, "cooperative", assignor(session, "cooperative", "CooperativeSticky")));
    }

    private static Map<String, Object> assignor(Session session, String own, String assignor) {
        return Map.of("group.id", session.name(own), "session.timeout.ms", 20_000, "heartbeat.interval.ms", 500,
                "partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor + "Assignor");
    }

    static Object kip848(Session session) throws Exception {
        Map<String, Object> results = new TreeMap<>();
        for (String assignor : List.of("uniform", "range")) {
            results.put(assignor, story(session, assignor, Map.of("group.id", session.name(assignor),
                    "group.protocol", "consumer", "group.remote.assignor", assignor)));
        }
        results.put("commits", commits(session, Map.of("group.id", session.name("commits"),
                "group.protocol", "consumer")));
        results.put("pattern", pattern(session, Map.of("group.id", session.name("pattern"),
                "group.protocol", "consumer")));
        return map("kip848", results);
    }

    /** Two members, then three, then two again, with records in every stage. */
    private static Map<String, Object> story(Session session, String own, Map<String, ?> configs) throws Exception {
        String topic = session.topic(own, PARTITIONS);
        ConcurrentLinkedQueue<String> seen = new ConcurrentLinkedQueue<>();
        List<Object> stages = new ArrayList<>();
        fill(session, topic, 0);
        List<Member> members = new ArrayList<>();
        for (int member = 0; member < 2; member++) {
            members.add(new Member(session, topic, configs, seen));
        }
        stages.add(stage(session, configs, members, seen, BATCH));
        members.add(new Member(session, topic, configs, seen));
        settle(session, configs, members);
        fill(session, topic, BATCH);
        stages.add(stage(session, configs, members, seen, 2 * BATCH));
        members.remove(1).leave();
        settle(session, configs, members);
        fill(session, topic, 2 * BATCH);
        stages.add(stage(session, configs, members, seen, 3 * BATCH));
        for (Member member : members) {
            member.leave();
        }
        try (Admin admin = session.admin()) {
            String group = (String) configs.get("group.id");
            return map("stages", stages, "seen", seen.size(), "twice", seen.size() - new HashSet<>(seen).size(),
                    "committed", committed(admin, group), "state-after", describe(admin, group).groupState());
        }
    }

    private static void fill(Session session, String topic, int from) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = session.producer(Map.of())) {
            for (int number = from; number < from + BATCH; number++) {
                producer.send(new ProducerRecord<>(topic, number % PARTITIONS, null, Records.bytes("v" + number)));
            }
            producer.flush();
        }
    }

    /** Waits until the members share all partitions evenly. */
    private static void settle(Session session, Map<String, ?> configs, Collection<Member> members) throws Exception {
        Session.until("an even assignment", () -> members.stream()
                .allMatch(member -> member.assigned().size() == PARTITIONS / members.size())
                && members.stream().flatMap(member -> member.assigned().stream()).distinct().count() == PARTITIONS);
    }

    /** Waits for an even assignment and all records; then the group as an administrator sees it. */
    private static Object stage(Session session, Map<String, ?> configs, Collection<Member> members,
            ConcurrentLinkedQueue<String> seen, int records) throws Exception {
        settle(session, configs, members);
        Session.until("all records", () -> new HashSet<>(seen).size() >= records);
        String group = (String) configs.get("group.id");
        try (Admin admin = session.admin()) {
            Session.until("a stable group", () -> {
                ConsumerGroupDescription described = describe(admin, group);
                return described.groupState().toString().equals("Stable")
                        && described.members().stream().allMatch(member ->
                                member.assignment().topicPartitions().size() == PARTITIONS / members.size());
            });
            ConsumerGroupDescription described = describe(admin, group);
            return map("members", described.members().size(), "type", described.type(),
                    "assignor", described.partitionAssignor(), "coordinator", described.coordinator() != null,
                    "partitions", described.members().stream()
                            .flatMap(member -> member.assignment().topicPartitions().stream())
                            .map(partition -> session.own(partition.toString())).sorted().toList());
        }
    }

    private static ConsumerGroupDescription describe(Admin admin, String group) throws Exception {
        return Session.get(admin.describeConsumerGroups(List.of(group)).all()).get(group);
    }

    /** The committed offset and metadata of every partition. */
    static Object committed(Admin admin, String group) throws Exception {
        Map<String, Object> results = new TreeMap<>();
        Session.get(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata()).forEach(
                (partition, place) -> results.put(String.valueOf(partition.partition()),
                        place == null ? null : place.offset() + " " + place.metadata()));
        return results;
    }

    /** Commits of every kind by one member, and what is read back. */
    private static Object commits(Session session, Map<String, ?> configs) throws Exception {
        String topic = session.topic("commits", 3);
        List<TopicPartition> partitions = Records.partitions(topic, 3);
        Map<String, Object> results = new TreeMap<>();
        try (KafkaConsumer<byte[], byte[]> consumer = session.consumer(configs)) {
            consumer.assign(partitions);
            consumer.commitSync(Map.of(partitions.get(0), new OffsetAndMetadata(5, "five")));
            java.util.concurrent.CompletableFuture<Object> done = new java.util.concurrent.CompletableFuture<>();
            consumer.commitAsync(Map.of(partitions.get(1), new OffsetAndMetadata(0)), (offsets, error) ->
                    done.complete(error == null ? "no error" : error.getClass().getSimpleName()));
            Session.until("the callback", () -> {
                consumer.poll(Duration.ofMillis(50));
                return done.isDone();
            });
            results.put("async", done.get());
            consumer.committed(java.util.Set.copyOf(partitions)).forEach((partition, place) -> results.put(
                    "partition-" + partition.partition(), place == null ? null : place.offset() + place.metadata()));
            TopicPartition absent = new TopicPartition(session.name("absent"), 0);
            results.put("unknown-topic", Session.error(() -> {
                consumer.commitSync(Map.of(absent, new OffsetAndMetadata(1)), Duration.ofSeconds(1));
                return null;
            }));
        }
        return results;
    }

    /** A subscription by pattern: the client's for a classic group, the broker's for the new protocol. */
    private static Object pattern(Session session, Map<String, ?> configs) throws Exception {
        String wanted = session.topic("pattern-a", 2);
        session.topic("other-a", 2);
        fillTwo(session, wanted);
        String expression = session.name("pattern-") + ".*";
        try (KafkaConsumer<byte[], byte[]> consumer = session.consumer(configs)) {
            if (configs.containsKey("group.protocol")) {
                consumer.subscribe(new SubscriptionPattern(expression));
            } else {
                consumer.subscribe(Pattern.compile(expression));
            }
            List<String> seen = new ArrayList<>();
            Session.until("all records", () -> {
                consumer.poll(Duration.ofMillis(100)).forEach(record ->
                        seen.add(session.own(record.topic()) + "-" + record.partition()));
                return seen.size() >= 2;
            });
            return map("seen", seen.stream().sorted().toList(), "assigned", consumer.assignment().stream()
                    .map(partition -> session.own(partition.toString())).sorted().toList());
        }
    }

    private static void fillTwo(Session session, String topic) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = session.producer(Map.of())) {
            for (int partition = 0; partition < 2; partition++) {
                Session.get(producer.send(new ProducerRecord<>(topic, partition, null, Records.bytes("v"))));
            }
        }
    }
}
