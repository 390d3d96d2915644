"""Staying for longer than a login lasts: writing all the while, and a group that reads it and commits.

`--seconds N` says how long.
"""

import time

import records
from waiting import until


def run(session):
    topic = session.topic("stay", 2)
    errors = []
    producer = session.producer(error_cb=lambda error: errors.append(error.name()))
    consumer = session.consumer(
        group_id=session.name("stay"), session_timeout_ms=20_000, error_cb=lambda error: errors.append(error.name()))
    consumer.subscribe([topic])
    answers, read = [], []

    def answered(error, _):
        answers.append(error.name() if error else "no error")

    def look():
        for message in consumer.consume(100, timeout=0.05):
            if message.error():
                errors.append(message.error().name())
            else:
                read.append(int(message.value()))
                consumer.commit(message, asynchronous=False)
        return len(set(read)) >= len(answers)

    end = time.monotonic() + float(session.options["seconds"])
    number = 0
    while time.monotonic() < end:
        records.write(producer, topic, value=str(number).encode(), on_delivery=answered)
        number += 1
        producer.poll(0.05)
        look()
    producer.flush()
    until("all records", look)
    consumer.close()
    return {"stay": {"answers": sorted(set(answers)), "errors": sorted(set(errors)),
                     "read": sorted(set(read)) == list(range(number))}}
