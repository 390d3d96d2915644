"""A member of a group, on a thread of its own. It commits what it has seen before it gives a partition up."""

import threading

from confluent_kafka import KafkaException, TopicPartition

from waiting import SECONDS

# The group is changing: tried again after the next poll, or when the partitions are given up.
TOO_EARLY = {"REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "STALE_MEMBER_EPOCH", "_ASSIGNMENT_LOST", "_IN_PROGRESS"}


class Member(threading.Thread):
    def __init__(self, session, topic, seen, **configs):
        """`seen` gets a pair for every record that some member has seen."""
        super().__init__(daemon=True)
        self.seen = seen
        self.held = set()
        self.uncommitted = {}
        self.leaving = False
        self.failure = None
        self.consumer = session.consumer(**configs)
        self.consumer.subscribe([topic], on_assign=self.assigned, on_revoke=self.revoked, on_lost=self.lost)
        self.start()

    def partitions(self):
        """What it holds now."""
        if self.failure:
            raise self.failure
        return set(self.held)

    def leave(self):
        """Leaves the group and returns when it has."""
        self.leaving = True
        self.join(SECONDS)
        if self.failure or self.is_alive():
            raise RuntimeError("a member did not leave") from self.failure

    def run(self):
        try:
            while not self.leaving:
                message = self.consumer.poll(0.1)
                if message is None:
                    self.commit()
                elif message.error():
                    raise KafkaException(message.error())
                else:
                    self.see(message)
            # Leaving gives the partitions up, which commits.
            self.consumer.close()
        except Exception as failure:
            self.failure = failure

    def see(self, message):
        place = (message.topic(), message.partition())
        self.seen.append((message.partition(), message.offset()))
        self.uncommitted[place] = message.offset() + 1
        if message.offset() % 5 == 0:
            self.commit()

    def commit(self):
        if not self.uncommitted:
            return
        offsets = [TopicPartition(*place, offset, "seen") for place, offset in self.uncommitted.items()]
        try:
            results = self.consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as failure:
            if failure.args[0].name() not in TOO_EARLY:
                raise
            return
        failures = [p.error for p in results if p.error]
        if failures:
            raise KafkaException(failures[0])
        self.uncommitted.clear()

    def assigned(self, consumer, partitions):
        self.held.update(p.partition for p in partitions)

    def revoked(self, consumer, partitions):
        self.commit()
        self.held.difference_update(p.partition for p in partitions)

    def lost(self, consumer, partitions):
        self.failure = RuntimeError(f"lost {partitions}")
