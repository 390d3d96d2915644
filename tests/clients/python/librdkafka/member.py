"""A member of a group, on a thread of its own. It commits what it has seen before it gives a partition up."""

from confluent_kafka import KafkaException, TopicPartition

from membership import Membership

# The group is changing: tried again after the next poll, or when the partitions are given up.
TOO_EARLY = {"REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "STALE_MEMBER_EPOCH", "_ASSIGNMENT_LOST", "_IN_PROGRESS"}


class Member(Membership):
    def __init__(self, session, topic, seen, **configs):
        super().__init__(session.consumer(**configs), seen)
        self.uncommitted = {}
        self.consumer.subscribe([topic], on_assign=self.assigned, on_revoke=self.revoked, on_lost=self.lost)
        self.start()

    def consume(self):
        message = self.consumer.poll(0.1)
        if message is None:
            self.commit()
        elif message.error():
            raise KafkaException(message.error())
        else:
            self.see(message)

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
