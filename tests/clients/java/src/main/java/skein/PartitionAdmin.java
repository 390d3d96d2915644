package skein;

import static skein.Json.map;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.LogDirDescription;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;

/** What administrators ask of partitions: offsets, truncation, elections, replicas, producers, transactions. */
final class PartitionAdmin {
    private PartitionAdmin() {
    }

    static void run(Session session, Admin admin, Map<String, Object> results) throws Exception {
        String topic = session.topic("partitions", 2);
        try (KafkaProducer<byte[], byte[]> plain = session.producer(Map.of());
                KafkaProducer<byte[], byte[]> open =
                        session.producer(Map.of("transactional.id", session.name("open")))) {
            for (int number = 0; number < 10; number++) {
                long time = Records.TIME + (number == 6 ? 50_000 : 1000L * number);
                Session.get(plain.send(new ProducerRecord<>(topic, 0, time, null, Records.bytes("v" + number))));
            }
            open.initTransactions();
            open.beginTransaction();
            Session.get(open.send(new ProducerRecord<>(topic, 1, Records.TIME, null, Records.bytes("open"))));
            results.put("producers", producers(admin, topic, 2));
            results.put("list-transactions", transactions(session, admin));
            open.abortTransaction();
        }
        results.put("partitions", map("offsets", offsets(admin, topic), "elect", elect(session, admin, topic)));
        results.put("delete-records", deleteRecords(session, admin, topic));
        results.put("log-dirs", logDirs(session, admin, topic));
        results.put("reassignments", reassignments(session, admin, topic));
    }

    /** Who writes to the partitions, and in which open transactions. */
    static Object producers(Admin admin, String topic, int partitions) throws Exception {
        Map<String, Object> results = new TreeMap<>();
        Session.get(admin.describeProducers(Records.partitions(topic, partitions)).all()).forEach((partition, state) ->
                results.put(String.valueOf(partition.partition()), state.activeProducers().stream()
                        .map(PartitionAdmin::producer).sorted().toList()));
        return results;
    }

    private static String producer(ProducerState state) {
        return "sequence=" + state.lastSequence() + " transaction-from=" + state.currentTransactionStartOffset()
                + " id=" + (state.producerId() >= 0);
    }

    private static Object transactions(Session session, Admin admin) throws Exception {
        String id = session.name("open");
        List<String> listed = Session.get(admin.listTransactions().all()).stream()
                .filter(listing -> session.owns(listing.transactionalId()))
                .map(listing -> session.own(listing.transactionalId()) + " " + listing.state()).sorted().toList();
        var described = Session.get(admin.describeTransactions(List.of(id)).description(id));
        boolean sameProducer = Session.get(admin.listTransactions().all()).stream()
                .filter(listing -> listing.transactionalId().equals(id))
                .mapToLong(TransactionListing::producerId).allMatch(found -> found == described.producerId());
        String fenced = Session.error(admin.fenceProducers(List.of(session.name("closed"))).all());
        return map("fence", fenced, "listed", listed, "same-producer", sameProducer, "state", described.state(),
                "partitions", described.topicPartitions().stream()
                        .map(partition -> session.own(partition.toString())).sorted().toList());
    }

    private static Object offsets(Admin admin, String topic) throws Exception {
        Map<String, OffsetSpec> specs = new TreeMap<>(Map.of("earliest", OffsetSpec.earliest(),
                "latest", OffsetSpec.latest(), "max-timestamp", OffsetSpec.maxTimestamp(),
                "earliest-local", OffsetSpec.earliestLocal(), "latest-tiered", OffsetSpec.latestTiered(),
                "time", OffsetSpec.forTimestamp(Records.TIME + 2_500)));
        Map<String, Object> results = new TreeMap<>();
        for (Map.Entry<String, OffsetSpec> spec : specs.entrySet()) {
            TopicPartition partition = new TopicPartition(topic, 0);
            var place = admin.listOffsets(Map.of(partition, spec.getValue())).partitionResult(partition);
            String error = Session.error(place);
            results.put(spec.getKey(), error.equals("no error")
                    ? place.get().offset() + " " + place.get().timestamp() : error);
        }
        return results;
    }

    private static Object deleteRecords(Session session, Admin admin, String topic) throws Exception {
        TopicPartition partition = new TopicPartition(topic, 0);
        Map<String, Object> results = new TreeMap<>();
        results.put("low", Session.get(admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(4)))
                .lowWatermarks().get(partition)).lowWatermark());
        results.put("beyond", Session.error(
                admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(400))).all()));
        results.put("left", ((List<?>) Records.all(session, topic, 1, Map.of()).get("0")).size());
        return results;
    }

    private static Object elect(Session session, Admin admin, String topic) throws Exception {
        Map<String, Object> results = new TreeMap<>();
        Set<TopicPartition> partitions = Set.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1),
                new TopicPartition(session.name("absent"), 0));
        for (ElectionType type : ElectionType.values()) {
            Session.get(admin.electLeaders(type, partitions).partitions()).forEach((partition, error) ->
                    results.put(type + " " + session.own(partition.toString()),
                            error.map(failure -> failure.getClass().getSimpleName()).orElse("no error")));
        }
        return results;
    }

    private static Object logDirs(Session session, Admin admin, String topic) throws Exception {
        List<Integer> brokers = Session.get(admin.describeCluster().nodes()).stream().map(Node::id).toList();
        Map<Integer, Map<String, LogDirDescription>> dirs =
                Session.get(admin.describeLogDirs(brokers).allDescriptions());
        List<String> held = dirs.values().stream().flatMap(broker -> broker.values().stream())
                .flatMap(dir -> dir.replicaInfos().keySet().stream()).filter(replica -> replica.topic().equals(topic))
                .map(replica -> session.own(replica.toString())).sorted().toList();
        return map("brokers-with-dirs", dirs.values().stream().filter(broker -> !broker.isEmpty()).count(),
                "all-brokers", dirs.size() == brokers.size(), "replicas", held);
    }

    private static Object reassignments(Session session, Admin admin, String topic) throws Exception {
        TopicPartition partition = new TopicPartition(topic, 0);
        List<Integer> now = Session.settled("the replicas", () ->
                Session.get(admin.describeTopics(List.of(topic)).allTopicNames()).get(topic)
                        .partitions().get(0).replicas().stream().map(Node::id).toList());
        return map("to-the-same", Session.error(admin.alterPartitionReassignments(
                        Map.of(partition, Optional.of(new NewPartitionReassignment(now)))).all()),
                "to-nobody", Session.error(admin.alterPartitionReassignments(
                        Map.of(partition, Optional.of(new NewPartitionReassignment(List.of(999_983))))).all()),
                "cancel", Session.error(admin.alterPartitionReassignments(Map.of(partition, Optional.empty())).all()),
                "ongoing", Session.get(admin.listPartitionReassignments(Set.of(partition)).reassignments()).size());
    }
}
