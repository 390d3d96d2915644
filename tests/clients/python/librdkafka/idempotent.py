"""Idempotent producers with many small batches in flight: every record once, in the order of the calls."""

import records

PARTITIONS = 3
PRODUCERS = 2
RECORDS = 3_000


def run(session):
    topic = session.topic("idempotent", PARTITIONS)
    rise = [write(session, topic, producer) for producer in range(PRODUCERS)]
    read = {str(p): [] for p in range(PARTITIONS)}
    for message in records.messages(session, topic, PARTITIONS):
        read[str(message.partition())].append((message.offset(), message.value()))
    return {"idempotent": {
        "offsets-rise": rise,
        "ordered": {p: found == expected(int(p)) for p, found in read.items()},
        "counts": {p: len(found) for p, found in read.items()},
    }}


def write(session, topic, producer_number):
    producer = session.producer(enable_idempotence=True, batch_num_messages=20, linger_ms=0)
    answers = records.send(producer, [
        (topic, number % PARTITIONS, {"value": value(producer_number, number)}) for number in range(RECORDS)])
    offsets = [[offset for at, offset in answers if at == partition] for partition in range(PARTITIONS)]
    return all(list(one) == sorted(set(one)) for one in offsets)


def value(producer, number):
    return f"producer {producer} record {number}".encode()


def expected(partition):
    values = [value(producer, number) for producer in range(PRODUCERS)
              for number in range(partition, RECORDS, PARTITIONS)]
    return list(enumerate(values))
