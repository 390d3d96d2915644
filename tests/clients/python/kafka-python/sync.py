"""kafka-python: its clients under the few calls that the scenarios need."""

import kafka
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaConfigurationError
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.structs import OffsetAndMetadata

import security
from waiting import SECONDS

LIBRARY = f"kafka-python {kafka.__version__}"
MODULE = kafka
REFUSAL = KafkaConfigurationError
EAGER = RangePartitionAssignor
COOPERATIVE = CooperativeStickyAssignor
SMALL_BATCHES = {"batch_size": 500}
# It goes on trying after a failed login.
IMPATIENT = {"bootstrap_timeout_ms": 1_000}


def place(offset, metadata=""):
    return OffsetAndMetadata(offset, metadata, -1)


class Tokens(AbstractTokenProvider):
    def token(self):
        return security.token()


class Producer:
    def __init__(self, **configs):
        self.inner = KafkaProducer(**configs)
        self.send_offsets = self.inner.send_offsets_to_transaction
        self.begin = self.inner.begin_transaction
        self.commit = self.inner.commit_transaction
        self.abort = self.inner.abort_transaction
        if "transactional_id" in configs:
            self.inner.init_transactions()

    def send(self, topic, partition, key, value, timestamp, headers):
        """Returns what waits for the acknowledgement."""
        future = self.inner.send(topic, value, key, headers, partition, timestamp)
        return lambda: future.get(SECONDS)

    def flush(self):
        self.inner.flush(SECONDS)

    def close(self):
        self.inner.close(SECONDS)


class Consumer:
    def __init__(self, **configs):
        self.inner = KafkaConsumer(**configs)
        for name in ["assign", "assignment", "seek", "pause", "resume", "position", "offsets_for_times",
                     "end_offsets", "close", "commit", "subscribe"]:
            setattr(self, name, getattr(self.inner, name))

    def poll(self, seconds=1):
        return [record for found in self.inner.poll(int(1000 * seconds)).values() for record in found]

    def committed(self, topic, partition):
        """The offset and the metadata, or nothing."""
        found = self.inner.committed(TopicPartition(topic, partition), metadata=True)
        return found and [found.offset, found.metadata]

    def group(self):
        """What a transaction has to know of the group."""
        return self.inner.group_metadata()


def admin(**configs):
    return KafkaAdminClient(**configs)


def brokers(admin):
    """How many there are."""
    return len(admin.describe_cluster()["brokers"])


def create_topic(admin, name, partitions, configs):
    admin.create_topics({name: {"num_partitions": partitions, "configs": configs}})


def leaders(admin, name):
    """Whether each partition of a topic has a leader."""
    [topic] = admin.describe_topics([name])
    return [partition["leader_id"] >= 0 for partition in topic["partitions"]]


def stable(admin, group, members):
    """The group as an administrator sees it, once it has settled."""
    found = admin.describe_groups([group])[group]
    if found["group_state"] != "Stable" or len(found["members"]) != members:
        return None
    return [members, found["protocol_type"], found["protocol_data"]]


def committed(admin, group):
    """What a group has committed, by partition."""
    found = admin.list_group_offsets(group)[group]
    return {partition: [place.offset, place.metadata] for partition, place in found.items()}
