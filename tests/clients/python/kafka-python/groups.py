"""Consumer groups: members join and leave, and each record is seen once; commits, and subscriptions by pattern."""

import threading

import records
import story
from patience import PATIENCE, patiently
from story import BATCH, PARTITIONS
from waiting import SECONDS, until


def classic(session):
    library = session.library
    return {
        "eager": told(session, "eager", library.EAGER)
        | {"commits": commits(session), "pattern": pattern(session)},
        "cooperative": told(session, "cooperative", library.COOPERATIVE)
        if library.COOPERATIVE else library.lacks_cooperative(),
    }


class Member(threading.Thread):
    """A member of a group, on a thread of its own, which commits by itself what it has seen."""

    def __init__(self, session, topic, group, assignor, seen):
        super().__init__(daemon=True)
        self.seen = seen
        self.held = set()
        self.leaving = False
        self.failure = None
        self.consumer = session.new_consumer(
            group_id=group, partition_assignment_strategy=[assignor], enable_auto_commit=True,
            auto_commit_interval_ms=200, session_timeout_ms=20_000, heartbeat_interval_ms=500)
        self.consumer.subscribe([topic])
        self.start()

    def partitions(self):
        """What it holds now."""
        if self.failure:
            raise self.failure
        return self.held

    def leave(self):
        """Leaves the group and returns when it has."""
        self.leaving = True
        self.join(SECONDS)
        if self.failure or self.is_alive():
            raise RuntimeError("a member did not leave") from self.failure

    def run(self):
        try:
            while not self.leaving:
                self.seen.extend((record.partition, record.offset) for record in self.consumer.poll())
                self.held = {partition.partition for partition in self.consumer.assignment()}
            # Leaving gives the partitions up, which commits.
            self.consumer.close()
        except Exception as failure:
            self.failure = failure


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
