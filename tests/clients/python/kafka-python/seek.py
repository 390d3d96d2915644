"""Finding a place in a partition: by offset, by time, at its ends, and beyond them."""

import contents
import records
from waiting import until

RECORDS = 20


def run(session):
    topic = session.topic("seek", 2)
    with session.producer(acks="all") as producer:
        for partition in range(2):
            records.send(producer, topic, partition, [
                {"value": f"value {number}".encode(), "timestamp": contents.TIME + 1000 * number + partition}
                for number in range(RECORDS)])
    with session.consumer() as consumer:
        partitions = session.partitions(topic, 2)
        consumer.assign(partitions)
        return {"seek": {
            "times": {str(delay): times(consumer, partitions, delay)
                      for delay in [-100_000, 0, 1, 4_999, 5_000, 5_001, 19_001, 100_000]},
            "ends": sorted([p.partition, offset] for p, offset in consumer.end_offsets(partitions).items()),
            "places": {str(offset): following(consumer, partitions[0], offset) for offset in [7, 3, 0, 19, 16]},
            "other": beside(consumer, *partitions),
            "beyond": following(consumer, partitions[0], 1_000),
        }}


def times(consumer, partitions, delay):
    found = consumer.offsets_for_times({partition: contents.TIME + delay for partition in partitions})
    return [found[partition] and [found[partition].offset, found[partition].timestamp] for partition in partitions]


def following(consumer, partition, offset):
    """The first record of a partition after a seek."""
    consumer.seek(partition, offset)

    def look():
        found = [record for record in consumer.poll(0.1) if record.partition == partition.partition]
        return found and records.line(found[0])

    return until("a record", look)


def beside(consumer, paused, other):
    """A record of one partition while the other is paused."""
    consumer.pause(paused)
    found = following(consumer, other, 11)
    consumer.resume(paused)
    return found
