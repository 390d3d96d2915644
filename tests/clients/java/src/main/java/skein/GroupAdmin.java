package skein;

import static skein.Json.map;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Groups and their offsets: listed, described, altered, deleted; while a member is there and after. */
final class GroupAdmin {
    private GroupAdmin() {
    }

    static void run(Session session, Admin admin, Map<String, Object> results) throws Exception {
        String topic = session.topic("grouped", 2);
        Map<String, Object> groups = new TreeMap<>();
        for (String protocol : List.of("classic", "consumer")) {
            groups.put(protocol, group(session, admin, topic, protocol));
        }
        results.put("offsets", offsets(session, admin, topic));
        groups.put("listed", listed(session, admin));
        groups.put("delete", delete(session, admin));
        results.put("groups", groups);
    }

    /** A group with one member. */
    private static Object group(Session session, Admin admin, String topic, String protocol) throws Exception {
        String group = session.name("group-" + protocol);
        Map<String, Object> results = new TreeMap<>();
        Map<String, Object> configs = Map.of("group.id", group, "group.protocol", protocol, "client.id", "prober");
        try (KafkaConsumer<byte[], byte[]> consumer = session.consumer(configs)) {
            consumer.subscribe(List.of(topic));
            Session.until("an assignment", () -> {
                consumer.poll(Duration.ofMillis(100));
                return consumer.assignment().size() == 2;
            });
            consumer.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(0, "zero")));
            ConsumerGroupDescription described =
                    Session.get(admin.describeConsumerGroups(List.of(group)).all()).get(group);
            results.put("described", map("state", described.groupState(), "type", described.type(),
                    "assignor", described.partitionAssignor(), "simple", described.isSimpleConsumerGroup(),
                    "members", described.members().stream().map(member -> member.clientId() + " "
                            + member.groupInstanceId() + " " + session.own(topicsOf(member.assignment()))).toList()));
            results.put("delete-in-use", Session.error(admin.deleteConsumerGroups(List.of(group)).all()));
            TopicPartition held = new TopicPartition(topic, 0);
            results.put("alter-in-use", Session.error(admin.alterConsumerGroupOffsets(group,
                    Map.of(held, new OffsetAndMetadata(1))).all()));
            results.put("delete-offsets-in-use", Session.error(
                    admin.deleteConsumerGroupOffsets(group, Set.of(held)).all()));
        }
        return results;
    }

    private static String topicsOf(org.apache.kafka.clients.admin.MemberAssignment assignment) {
        return assignment.topicPartitions().stream().map(TopicPartition::toString).sorted().toList().toString();
    }

    /** Offsets of groups that nobody is in. */
    private static Object offsets(Session session, Admin admin, String topic) throws Exception {
        String group = session.name("offsets");
        TopicPartition first = new TopicPartition(topic, 0);
        TopicPartition second = new TopicPartition(topic, 1);
        TopicPartition absent = new TopicPartition(session.name("absent"), 0);
        Map<String, Object> results = new TreeMap<>();
        results.put("alter", Session.error(admin.alterConsumerGroupOffsets(group, Map.of(
                first, new OffsetAndMetadata(3, "three"), second, new OffsetAndMetadata(4))).all()));
        results.put("altered", Groups.committed(admin, group));
        results.put("alter-absent", Session.error(admin.alterConsumerGroupOffsets(group,
                Map.of(absent, new OffsetAndMetadata(1))).partitionResult(absent)));
        results.put("delete", Session.error(admin.deleteConsumerGroupOffsets(group, Set.of(first)).all()));
        results.put("deleted", Groups.committed(admin, group));
        // Two groups, and partitions by name, in one request.
        Map<String, ListConsumerGroupOffsetsSpec> specs = Map.of(
                group, new ListConsumerGroupOffsetsSpec().topicPartitions(List.of(first, second, absent)),
                session.name("group-classic"), new ListConsumerGroupOffsetsSpec().topicPartitions(List.of(first)));
        Map<String, Object> several = new TreeMap<>();
        Session.get(admin.listConsumerGroupOffsets(specs).all()).forEach((name, places) -> places.forEach(
                (partition, place) -> several.put(session.own(name + " " + partition),
                        place == null ? null : place.offset() + place.metadata())));
        results.put("several", several);
        results.put("absent-group", Session.error(
                admin.describeConsumerGroups(List.of(session.name("nobody"))).all()));
        results.put("absent-group-offsets", Session.error(
                admin.listConsumerGroupOffsets(session.name("nobody")).partitionsToOffsetAndMetadata()));
        return results;
    }

    private static Object listed(Session session, Admin admin) throws Exception {
        Map<String, Object> results = new TreeMap<>();
        for (GroupListing group : Session.get(admin.listGroups().all())) {
            if (session.owns(group.groupId())) {
                results.put(session.own(group.groupId()), group.type() + " " + group.groupState() + " "
                        + group.protocol());
            }
        }
        return results;
    }

    private static Object delete(Session session, Admin admin) throws Exception {
        Map<String, Object> results = new TreeMap<>();
        for (String own : List.of("group-classic", "group-consumer", "offsets", "nobody")) {
            results.put(own, Session.error(admin.deleteConsumerGroups(List.of(session.name(own))).all()));
        }
        results.put("left", Session.get(admin.listGroups().all()).stream()
                .map(GroupListing::groupId).filter(session::owns).map(session::own).sorted().toList());
        return results;
    }
}
