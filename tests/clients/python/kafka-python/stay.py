"""Staying for longer than a login lasts: writing all the while, and a group that reads it and commits.

`--seconds N` says how long.
"""

import time

import contents
import records
from session import error
from waiting import until


def run(session):
    topic = session.topic("stay", 2)
    answers, errors, read = set(), set(), []
    with session.producer(acks="all") as producer, session.consumer(
            group_id=session.name("stay"), session_timeout_ms=20_000) as consumer:
        consumer.subscribe([topic])

        def look():
            found = []
            outcomes = {error(lambda: found.extend(consumer.poll(0.05)))}
            if found:
                outcomes.add(error(consumer.commit))
            errors.update(outcomes - {"no error"})
            read.extend(int(record.value) for record in found)

        end = time.monotonic() + float(session.options["seconds"])
        number = 0
        while time.monotonic() < end:
            record = {"key": None, "timestamp": contents.TIME, "headers": [], "value": str(number).encode()}
            answer = records.answer(producer.send(topic, number % 2, **record))
            answers.add("no error" if isinstance(answer, int) else answer)
            number += 1
            look()
        until("all records", lambda: look() or len(set(read)) >= number)
    return {"stay": {"answers": sorted(answers), "errors": sorted(errors),
                     "read": sorted(set(read)) == list(range(number))}}
