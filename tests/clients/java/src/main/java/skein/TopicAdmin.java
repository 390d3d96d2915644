package skein;

import static skein.Json.map;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.CreateTopicsResult;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;

/** Topics and their configurations: made, described, changed, deleted; and what is refused. */
final class TopicAdmin {
    private static final ConfigResource.Type TOPIC = ConfigResource.Type.TOPIC;

    private TopicAdmin() {
    }

    static void run(Session session, Admin admin, Map<String, Object> results) throws Exception {
        Map<String, Object> topics = map("create", create(session, admin), "refused", refused(session, admin),
                "describe", describe(session, admin), "extend", extend(session, admin));
        results.put("configs", configs(session, admin));
        topics.put("delete", delete(session, admin));
        results.put("topics", topics);
    }

    private static NewTopic topic(Session session, String own, int partitions) {
        return new NewTopic(session.name(own), Optional.of(partitions), Optional.empty());
    }

    private static Object create(Session session, Admin admin) throws Exception {
        NewTopic plain = topic(session, "plain", 3);
        NewTopic configured = topic(session, "configured", 1)
                .configs(Map.of("cleanup.policy", "compact", "segment.bytes", "10485760"));
        NewTopic assigned = new NewTopic(session.name("assigned"), Map.of(0, someBroker(admin)));
        Map<String, Object> results = new TreeMap<>();
        CreateTopicsResult dry = admin.createTopics(List.of(plain), new CreateTopicsOptions().validateOnly(true));
        results.put("dry-partitions", Session.get(dry.numPartitions(plain.name())));
        CreateTopicsResult made = admin.createTopics(List.of(plain, configured, assigned));
        for (NewTopic topic : List.of(plain, configured, assigned)) {
            results.put(session.own(topic.name()), map(
                    "partitions", Session.get(made.numPartitions(topic.name())),
                    "has-id", !Session.get(made.topicId(topic.name())).equals(Uuid.ZERO_UUID),
                    "configs", Session.get(made.config(topic.name())).entries().size()));
        }
        Session.until("the new topics", () -> Session.get(admin.listTopics().names()).containsAll(
                List.of(plain.name(), configured.name(), assigned.name())));
        results.put("listed", owned(session, Session.get(admin.listTopics().names())));
        return results;
    }

    private static List<Integer> someBroker(Admin admin) throws Exception {
        return List.of(Session.get(admin.describeCluster().nodes()).iterator().next().id());
    }

    private static List<String> owned(Session session, Collection<String> names) {
        return names.stream().filter(session::owns).map(session::own).sorted().toList();
    }

    private static Object refused(Session session, Admin admin) {
        NewTopic existing = topic(session, "plain", 3);
        NewTopic badName = new NewTopic(session.name("not/a*name"), 1, (short) 1);
        NewTopic manyReplicas = new NewTopic(session.name("many"), 1, (short) 30);
        NewTopic noPartitions = new NewTopic(session.name("none"), 0, (short) 1);
        NewTopic badConfig = topic(session, "config", 1).configs(Map.of("no.such.config", "1"));
        NewTopic badBroker = new NewTopic(session.name("broker"), Map.of(0, List.of(999_983)));
        List<NewTopic> topics = List.of(existing, badName, manyReplicas, noPartitions, badConfig, badBroker);
        CreateTopicsResult made = admin.createTopics(topics);
        Map<String, Object> results = new TreeMap<>();
        for (NewTopic topic : topics) {
            results.put(session.own(topic.name()), Session.error(made.values().get(topic.name())));
        }
        String absent = session.name("absent");
        results.put("describe-absent", Session.error(admin.describeTopics(List.of(absent)).allTopicNames()));
        results.put("describe-absent-id", Session.error(
                admin.describeTopics(TopicCollection.ofTopicIds(List.of(new Uuid(7, 7)))).allTopicIds()));
        results.put("delete-absent", Session.error(admin.deleteTopics(List.of(absent)).all()));
        results.put("delete-absent-id", Session.error(
                admin.deleteTopics(TopicCollection.ofTopicIds(List.of(new Uuid(7, 7)))).all()));
        results.put("extend-absent", Session.error(
                admin.createPartitions(Map.of(absent, NewPartitions.increaseTo(4))).all()));
        results.put("configs-absent", Session.error(
                admin.describeConfigs(List.of(new ConfigResource(TOPIC, absent))).all()));
        return results;
    }

    private static Object describe(Session session, Admin admin) throws Exception {
        List<String> names = List.of(session.name("plain"), session.name("configured"), session.name("assigned"));
        Map<String, TopicDescription> byName = Session.settled("the topics by name", () ->
                Session.get(admin.describeTopics(names).allTopicNames()));
        List<Uuid> ids = byName.values().stream().map(TopicDescription::topicId).toList();
        Map<Uuid, TopicDescription> byId = Session.settled("the topics by id", () ->
                Session.get(admin.describeTopics(TopicCollection.ofTopicIds(ids)).allTopicIds()));
        Map<String, Object> results = new TreeMap<>();
        byName.forEach((name, topic) -> results.put(session.own(name), map(
                "internal", topic.isInternal(),
                "by-id", session.own(byId.get(topic.topicId()).name()) + " "
                        + byId.get(topic.topicId()).partitions().size(),
                "operations", String.valueOf(topic.authorizedOperations()),
                "partitions", topic.partitions().stream().map(partition -> partition.partition()
                        + " led=" + (partition.leader() != null) + " replicas=" + partition.replicas().size()
                        + " leader-first=" + partition.replicas().get(0).equals(partition.leader())
                        + " in-sync=" + partition.isr().size()).toList())));
        return results;
    }

    private static Object extend(Session session, Admin admin) throws Exception {
        String name = session.name("plain");
        Map<String, Object> results = new TreeMap<>();
        results.put("fewer", Session.error(admin.createPartitions(Map.of(name, NewPartitions.increaseTo(2))).all()));
        results.put("more", Session.error(admin.createPartitions(Map.of(name, NewPartitions.increaseTo(5))).all()));
        Session.until("five partitions", () ->
                Session.get(admin.describeTopics(List.of(name)).allTopicNames()).get(name).partitions().size() == 5);
        return results;
    }

    private static Object configs(Session session, Admin admin) throws Exception {
        ConfigResource resource = new ConfigResource(TOPIC, session.name("configured"));
        Map<String, Object> results = new TreeMap<>();
        results.put("before", Session.settled("the configs", () -> entries(admin, resource)));
        List<AlterConfigOp> changes = List.of(
                change("retention.ms", "12345678", AlterConfigOp.OpType.SET),
                change("cleanup.policy", "delete", AlterConfigOp.OpType.APPEND),
                change("segment.bytes", null, AlterConfigOp.OpType.DELETE));
        results.put("change", Session.error(admin.incrementalAlterConfigs(Map.of(resource, changes)).all()));
        Session.until("the change", () -> {
            results.put("after", entries(admin, resource));
            return results.get("after").toString().contains("12345678");
        });
        AlterConfigOp wrong = change("retention.ms", "many", AlterConfigOp.OpType.SET);
        results.put("wrong", Session.error(
                admin.incrementalAlterConfigs(Map.of(resource, List.of(wrong))).all()));
        return results;
    }

    private static AlterConfigOp change(String name, String value, AlterConfigOp.OpType operation) {
        return new AlterConfigOp(new ConfigEntry(name, value), operation);
    }

    private static Object entries(Admin admin, ConfigResource resource) throws Exception {
        Map<String, Object> results = new TreeMap<>();
        Session.get(admin.describeConfigs(List.of(resource)).all()).get(resource).entries().forEach(entry ->
                results.put(entry.name(), entry.value() + " " + entry.source() + " " + entry.type()
                        + (entry.isReadOnly() ? " read-only" : "") + (entry.isSensitive() ? " sensitive" : "")));
        return results;
    }

    private static Object delete(Session session, Admin admin) throws Exception {
        List<String> names = List.of(session.name("plain"), session.name("assigned"));
        Uuid id = Session.settled("the topics", () ->
                Session.get(admin.describeTopics(names).allTopicNames()).get(names.get(1)).topicId());
        Map<String, Object> results = new TreeMap<>();
        results.put("by-name", Session.error(admin.deleteTopics(names.subList(0, 1)).all()));
        results.put("by-id", Session.error(admin.deleteTopics(TopicCollection.ofTopicIds(List.of(id))).all()));
        Session.until("their end", () -> owned(session, Session.get(admin.listTopics().names()))
                .equals(List.of("configured")));
        results.put("again", Session.error(admin.deleteTopics(names.subList(0, 1)).all()));
        return results;
    }
}
