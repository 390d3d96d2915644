"""Consumer groups of both protocols: members join and leave while records arrive, and each record is seen once."""

import time

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

import records
import story
from member import Member
from session import error, partitions
from story import BATCH, PARTITIONS
from waiting import SECONDS, until

def classic(session):
    results = {
        own: told(session, own, session_timeout_ms=20_000, heartbeat_interval_ms=500,
                  partition_assignment_strategy=assignor)
        for own, assignor in [("eager", "range"), ("cooperative", "cooperative-sticky")]}
    results["eager"] |= {"commits": commits(session), "pattern": pattern(session)}
    return results


def kip848(session):
    results = {
        assignor: told(session, assignor, group_protocol="consumer", group_remote_assignor=assignor)
        for assignor in ["uniform", "range"]}
    return {"kip848": results | {
        "commits": commits(session, group_protocol="consumer"),
        "pattern": pattern(session, group_protocol="consumer"),
    }}


def told(session, own, **configs):
    """The story of a group, and what it has committed in the end."""
    topic = session.topic(own, PARTITIONS)
    group = session.name(own)
    admin = session.admin()

    def fill(start):
        records.send(session.producer(), [
            (topic, number % PARTITIONS, {"value": f"v{number}".encode()}) for number in range(start, start + BATCH)])

    def join(seen):
        return Member(session, topic, seen, group_id=group, **configs)

    results = story.tell(fill, join, lambda members, share: stable(admin, group, members, share))
    return results | {"committed": committed(admin, group), "state-after": describe(admin, group).state.name}


def stable(admin, group, members, share):
    """The group as an administrator sees it, once all its members have their share."""
    described = describe(admin, group)
    shares = [len(member.assignment.topic_partitions) for member in described.members]
    if described.state.name != "STABLE" or shares != [share] * members:
        return None
    return {
        "members": members, "type": described.type.name, "assignor": described.partition_assignor,
        "coordinator": described.coordinator is not None,
        "partitions": sorted(p.partition for m in described.members for p in m.assignment.topic_partitions),
    }


def describe(admin, group):
    return admin.describe_consumer_groups([group])[group].result(SECONDS)


def committed(admin, group):
    """The committed offset and metadata of every partition."""
    found = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(SECONDS)
    return {str(p.partition): [p.offset, p.metadata] for p in found.topic_partitions}


def commits(session, **configs):
    """Commits by one member, and what is read back."""
    topic = session.topic("commits", 3)
    consumer = session.consumer(group_id=session.name("commits"), **configs)
    consumer.assign(partitions(topic, 3))
    consumer.commit(offsets=[TopicPartition(topic, 0, 5, "five")], asynchronous=False)
    consumer.commit(offsets=[TopicPartition(topic, 1, 0)], asynchronous=True)

    def places():
        return [[p.offset, p.metadata] for p in consumer.committed(partitions(topic, 3), timeout=SECONDS)]

    until("the second commit", lambda: places()[1][0] == 0)
    absent = TopicPartition(session.name("absent"), 0, 1)
    results = {
        "committed": places(),
        "unknown-topic": error(lambda: consumer.commit(offsets=[absent], asynchronous=False)),
    }
    consumer.close()
    return results


def pattern(session, **configs):
    """A subscription by pattern: the client's for a classic group, the broker's for the new protocol."""
    wanted = session.topic("pattern-a", 2)
    session.topic("other-a", 2)
    records.send(session.producer(), [(wanted, p, {"value": b"v"}) for p in range(2)])
    consumer = session.consumer(group_id=session.name("pattern"), **configs)
    consumer.subscribe([f"^{session.name('pattern-')}.*"])
    seen = []
    limit = time.monotonic() + SECONDS
    while len(seen) < 2 and time.monotonic() < limit:
        message = consumer.poll(0.1)
        if message is not None:
            seen.append(message.error().name() if message.error()
                        else f"{session.own(message.topic())}-{message.partition()}")
    assigned = sorted(f"{session.own(p.topic)}-{p.partition}" for p in consumer.assignment())
    consumer.close()
    return {"seen": sorted(seen), "assigned": assigned}
