"""Idempotent producers with many small batches in flight: every record once, in the order of the calls."""

import records

PRODUCERS = 2
RECORDS = 1_000


def run(session):
    topic = session.topic("idempotent", 1)
    rise = [write(session, topic, number) for number in range(PRODUCERS)]
    found = [record.value for record in records.every(session, topic, 1)]
    wanted = [value(producer, number) for producer in range(PRODUCERS) for number in range(RECORDS)]
    return {"idempotent": {"offsets-rise": rise, "ordered": found == wanted, "count": len(found)}}


def write(session, topic, producer_number):
    with session.producer(enable_idempotence=True, acks="all", **session.library.SMALL_BATCHES) as producer:
        offsets = records.send(producer, topic, 0, [
            {"value": value(producer_number, number)} for number in range(RECORDS)])
    return offsets == sorted(set(offsets))


def value(producer, number):
    return f"producer {producer} record {number}".encode()
