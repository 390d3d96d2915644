"""aiokafka: its clients under the few calls that the scenarios need, each of which waits for its coroutine."""

import asyncio
import inspect
import threading

import aiokafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.abc import AbstractTokenProvider
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import for_code

import security
from lacking import absent
from waiting import SECONDS

LIBRARY = f"aiokafka {aiokafka.__version__}"
MODULE = aiokafka
# An unknown argument of a constructor.
REFUSAL = TypeError
EAGER = RangePartitionAssignor
COOPERATIVE = None
SMALL_BATCHES = {"max_batch_size": 500}
IMPATIENT = {}

LOOP = asyncio.new_event_loop()
threading.Thread(target=LOOP.run_forever, daemon=True).start()


def wait(call, *arguments, **named):
    """The outcome of a call that has to be made on the loop."""
    async def made():
        result = call(*arguments, **named)
        return await result if inspect.isawaitable(result) else result

    return asyncio.run_coroutine_threadsafe(made(), LOOP).result(SECONDS)


class Waiting:
    """A client whose methods wait."""

    def __init__(self, client):
        self.inner = client

    def __getattr__(self, name):
        method = getattr(self.inner, name)
        return lambda *arguments, **named: wait(method, *arguments, **named)


def started(kind, **configs):
    client = Waiting(wait(lambda: kind(**configs)))
    client.start()
    return client


def place(offset, metadata=""):
    return (offset, metadata)


class Tokens(AbstractTokenProvider):
    async def token(self):
        return await asyncio.to_thread(security.token)


class Producer:
    def __init__(self, **configs):
        self.inner = started(AIOKafkaProducer, **configs)
        self.begin = self.inner.begin_transaction
        self.commit = self.inner.commit_transaction
        self.abort = self.inner.abort_transaction
        self.send_offsets = self.inner.send_offsets_to_transaction
        self.flush = self.inner.flush
        self.close = self.inner.stop

    def send(self, topic, partition, key, value, timestamp, headers):
        """Returns what waits for the acknowledgement."""
        async def sent():
            # A future, which is not to be waited for here.
            return [await self.inner.inner.send(topic, value, key, partition, timestamp, headers)]

        [future] = wait(sent)
        return lambda: wait(lambda: future)


class Consumer:
    def __init__(self, **configs):
        self.inner = started(AIOKafkaConsumer, **configs)
        for name in ["assign", "assignment", "seek", "pause", "resume", "position", "offsets_for_times",
                     "end_offsets", "commit", "subscribe"]:
            setattr(self, name, getattr(self.inner, name))
        self.close = self.inner.stop
        self.group_id = configs.get("group_id")

    def poll(self, seconds=1):
        found = self.inner.getmany(timeout_ms=int(1000 * seconds))
        return [record for records in found.values() for record in records]

    def committed(self, topic, partition):
        """The offset and the metadata, or nothing."""
        offset = self.inner.committed(TopicPartition(topic, partition))
        return offset and [offset, None]

    def group(self):
        """What a transaction has to know of the group."""
        return self.group_id


def admin(**configs):
    return started(AIOKafkaAdminClient, **configs)


def lacks_cooperative():
    return absent(aiokafka.coordinator.assignors, "cooperative_sticky", "cooperative")


def brokers(admin):
    """How many there are."""
    return len(admin.describe_cluster()["brokers"])


def create_topic(admin, name, partitions, configs):
    # It cannot leave the number of replicas to the cluster.
    response = admin.create_topics([NewTopic(name, partitions, min(3, brokers(admin)), topic_configs=configs)])
    [(_, code, *_)] = response.topic_errors
    if code:
        raise for_code(code)


def leaders(admin, name):
    """Whether each partition of a topic has a leader."""
    [topic] = admin.describe_topics([name])
    return [partition["leader"] >= 0 for partition in topic["partitions"]]


def stable(admin, group, members):
    """The group as an administrator sees it, once it has settled."""
    [response] = admin.describe_consumer_groups([group])
    [(_, _, state, kind, protocol, found, *_)] = response.groups
    return [members, kind, protocol] if state == "Stable" and len(found) == members else None


def committed(admin, group):
    """What a group has committed, by partition."""
    found = admin.list_consumer_group_offsets(group)
    return {partition: [place.offset, place.metadata] for partition, place in found.items()}
