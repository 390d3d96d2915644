"""Consumer groups: members join and leave, and each record is seen once; commits, and subscriptions by pattern."""

import records
import story
from membership import Membership
from patience import PATIENCE, patiently
from story import BATCH, PARTITIONS
from waiting import until


def classic(session):
    library = session.library
    return {
        "eager": told(session, "eager", library.EAGER)
        | {"commits": commits(session), "pattern": pattern(session)},
        "cooperative": told(session, "cooperative", library.COOPERATIVE)
        if library.COOPERATIVE else library.lacks_cooperative(),
    }


class Member(Membership):
    """It commits by itself what it has seen."""

    def __init__(self, session, topic, group, assignor, seen):
        super().__init__(session.new_consumer(
            group_id=group, partition_assignment_strategy=[assignor], enable_auto_commit=True,
            auto_commit_interval_ms=200, session_timeout_ms=20_000, heartbeat_interval_ms=500), seen)
        self.consumer.subscribe([topic])
        self.start()

    def consume(self):
        self.seen.extend((record.partition, record.offset) for record in self.consumer.poll())
        self.held = {partition.partition for partition in self.consumer.assignment()}


def told(session, own, assignor):
    """The story of a group, and what it has committed in the end."""
    return patiently(own, lambda name: once(session, name, assignor))


def once(session, own, assignor):
    topic = session.topic(own, PARTITIONS)
    group = session.name(own)

    def fill(start):
        with session.producer(acks="all") as producer:
            for partition in range(PARTITIONS):
                numbers = range(start + partition, start + BATCH, PARTITIONS)
                records.send(producer, topic, partition, [{"value": f"v{number}".encode()} for number in numbers])

    with session.admin() as admin:
        results = story.tell(
            fill, lambda seen: Member(session, topic, group, assignor, seen),
            lambda members, share: session.library.stable(admin, group, members), PATIENCE)
        committed = session.library.committed(admin, group)
    return results | {"committed": {str(p.partition): place for p, place in committed.items()}}


def commits(session):
    """Commits by one member, and what is read back."""
    topic = session.topic("commits", 3)
    with session.consumer(group_id=session.name("commits")) as consumer:
        partitions = session.partitions(topic, 3)
        consumer.assign(partitions)
        consumer.commit({partitions[0]: session.library.place(5, "five")})
        consumer.commit({partitions[1]: session.library.place(0)})
        return [consumer.committed(topic, partition) for partition in range(3)]


def pattern(session):
    """A subscription by pattern."""
    wanted = session.topic("pattern-a", 2)
    session.topic("other-a", 2)
    with session.producer(acks="all") as producer:
        for partition in range(2):
            records.send(producer, wanted, partition, [{"value": b"v"}])

    def subscribed(name):
        seen = []
        with session.consumer(group_id=session.name(name)) as consumer:
            consumer.subscribe(pattern=f"^{session.name('pattern-')}.*")

            def look():
                seen.extend(f"{session.own(record.topic)}-{record.partition}" for record in consumer.poll())
                return len(seen) >= 2

            until("all records", look, PATIENCE)
        return sorted(seen)

    return patiently("pattern", subscribed)
