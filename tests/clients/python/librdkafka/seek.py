"""Finding a place in a partition: by offset, by time, at its ends, and beyond them."""

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, TopicPartition

import contents
import records
from session import partitions
from waiting import SECONDS, until

RECORDS = 20


def run(session):
    topic = session.topic("seek", 2)
    producer = session.producer(batch_num_messages=1)
    records.send(producer, [
        (topic, index, {"value": f"value {number}".encode(), "timestamp": contents.TIME + 1000 * number + index})
        for number in range(RECORDS) for index in range(2)])
    consumer = session.consumer()
    results = {"seek": {
        "times": times(consumer, topic),
        "ends": [consumer.get_watermark_offsets(p, timeout=SECONDS) for p in partitions(topic, 2)],
        "places": places(consumer, topic),
        "beyond": {policy: beyond(session, topic, policy) for policy in ["earliest", "latest", "error"]},
    }}
    consumer.close()
    return results


def times(consumer, topic):
    found = {}
    for delay in [-100_000, 0, 1, 4_999, 5_000, 5_001, 19_001, 100_000]:
        wanted = partitions(topic, 2, contents.TIME + delay)
        places = consumer.offsets_for_times(wanted, timeout=SECONDS)
        found[str(delay)] = [(p.partition, p.offset, str(p.error)) for p in places]
    return found


def places(consumer, topic):
    """The first record after each kind of seek."""
    consumer.assign(partitions(topic, 2, OFFSET_BEGINNING))
    first = TopicPartition(topic, 0)
    results = {"beginning": following(consumer, 0)}
    for offset in [7, 3, OFFSET_BEGINNING, RECORDS - 1, RECORDS - 4]:
        consumer.seek(TopicPartition(topic, 0, offset))
        results[str(offset)] = following(consumer, 0)
    consumer.pause([first])
    consumer.seek(TopicPartition(topic, 1, 11))
    results["other"] = following(consumer, 1)
    consumer.resume([first])
    consumer.assign(partitions(topic, 2, OFFSET_END))
    results["end"] = str(consumer.poll(0.5))
    return results


def following(consumer, partition):
    def look():
        message = consumer.poll(0.1)
        if message is not None and not message.error() and message.partition() == partition:
            return records.line(message)
        return None
    return until("a record", look)


def beyond(session, topic, policy):
    """What a consumer gets from an offset that is out of range."""
    consumer = session.consumer(auto_offset_reset=policy, enable_partition_eof=True)
    consumer.assign([TopicPartition(topic, 0, 1_000)])
    message = until("an answer", lambda: consumer.poll(0.1))
    answer = message.error().name() if message.error() else records.line(message)
    consumer.close()
    return answer
