package skein;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;

/** A member of a group, on a thread of its own. It commits what it has seen before it gives a partition up. */
final class Member extends Thread implements ConsumerRebalanceListener {
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final ConcurrentLinkedQueue<String> seen;
    private final Set<TopicPartition> assigned = ConcurrentHashMap.newKeySet();
    private final Map<TopicPartition, OffsetAndMetadata> uncommitted = new HashMap<>();
    private volatile boolean leaving;
    private volatile Throwable failure;

    /** {@code seen} gets a line for every record that some member has seen. */
    Member(Session session, String topic, Map<String, ?> configs, ConcurrentLinkedQueue<String> seen) {
        this.seen = seen;
        this.consumer = session.consumer(configs);
        consumer.subscribe(List.of(topic), this);
        setDaemon(true);
        start();
    }

    /** What it holds now. */
    Set<TopicPartition> assigned() {
        if (failure != null) {
            throw new IllegalStateException("a member failed", failure);
        }
        return assigned;
    }

    /** Leaves the group and returns when it has. */
    void leave() throws Exception {
        leaving = true;
        join(Duration.ofSeconds(Session.SECONDS).toMillis());
        if (isAlive() || failure != null) {
            throw new IllegalStateException("a member did not leave", failure);
        }
    }

    @Override
    public void run() {
        try (consumer) {
            while (!leaving) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    seen.add(record.partition() + "@" + record.offset());
                    uncommitted.put(new TopicPartition(record.topic(), record.partition()),
                            new OffsetAndMetadata(record.offset() + 1, record.leaderEpoch(), "seen"));
                }
                commit();
            }
            // Leaving gives the partitions up, which commits.
        } catch (Throwable caught) {
            failure = caught;
        }
    }

    private void commit() {
        if (uncommitted.isEmpty()) {
            return;
        }
        try {
            consumer.commitSync(uncommitted);
            uncommitted.clear();
        } catch (RebalanceInProgressException | CommitFailedException tooEarly) {
            // Tried again after the next poll, or when the partitions are given up.
        }
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        commit();
        assigned.removeAll(partitions);
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        assigned.addAll(partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        failure = new IllegalStateException("lost " + partitions);
    }
}
