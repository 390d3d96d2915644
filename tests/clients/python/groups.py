"""Consumer groups of both protocols: members join and leave while records arrive, and each record is seen once."""

import time

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

import records
from member import Member
from session import SECONDS, error, partitions, until

PARTITIONS = 6
BATCH = 60


def classic(session):
    results = {
        assignor: story(session, assignor, session_timeout_ms=20_000, heartbeat_interval_ms=500,
                        partition_assignment_strategy=assignor)
        for assignor in ["range", "cooperative-sticky"]}
    results["commits"] = commits(session)
    results["pattern"] = pattern(session)
    return results


def kip848(session):
    results = {
        assignor: story(session, assignor, group_protocol="consumer", group_remote_assignor=assignor)
        for assignor in ["uniform", "range"]}
    results["commits"] = commits(session, group_protocol="consumer")
    results["pattern"] = pattern(session, group_protocol="consumer")
    return results


def story(session, own, **configs):
    """Two members, then three, then two again, with records in every stage."""
    topic = session.topic(own, PARTITIONS)
    group = session.name(own)
    admin = session.admin()
    seen = []

    def join():
        return Member(session, topic, seen, group_id=group, **configs)

    fill(session, topic, 0)
    members = [join(), join()]
    stages = [stage(admin, group, members, seen, BATCH)]
    members.append(join())
    settle(members)
    fill(session, topic, BATCH)
    stages.append(stage(admin, group, members, seen, 2 * BATCH))
    members.pop(1).leave()
    settle(members)
    fill(session, topic, 2 * BATCH)
    stages.append(stage(admin, group, members, seen, 3 * BATCH))
    for member in members:
        member.leave()
    return {
        "stages": stages, "seen": len(seen), "twice": len(seen) - len(set(seen)),
        "committed": committed(admin, group), "state-after": describe(admin, group).state.name,
    }


def fill(session, topic, start):
    records.send(session.producer(), [
        (topic, number % PARTITIONS, {"value": f"v{number}".encode()}) for number in range(start, start + BATCH)])


def settle(members):
    """Waits until the members share all partitions evenly."""
    share = PARTITIONS // len(members)
    until("an even assignment", lambda: all(len(m.partitions()) == share for m in members)
          and len(set().union(*(m.partitions() for m in members))) == PARTITIONS)


def stage(admin, group, members, seen, count):
    """Waits for an even assignment and all records; then the group as an administrator sees it."""
    settle(members)
    until("all records", lambda: len(set(seen)) >= count)
    share = PARTITIONS // len(members)

    def stable():
        described = describe(admin, group)
        even = all(len(m.assignment.topic_partitions) == share for m in described.members)
        return described if described.state.name == "STABLE" and even else None

    described = until("a stable group", stable)
    return {
        "members": len(described.members), "type": described.type.name, "assignor": described.partition_assignor,
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
