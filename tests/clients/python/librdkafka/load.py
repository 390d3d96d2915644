"""Writing through outages, and reading everything back.

Options of both: `--topic T` (the whole name), `--out FILE` (one id per line). Of the writer: `--until FILE` (it stops
when that file is there), `--rate N` (records per second) and `--partitions N` (it creates the topic).
"""

import os
import time

from confluent_kafka.admin import NewTopic

import records
from waiting import SECONDS


def produce(session):
    """Writes records with ids from 0, and to the file each id whose write was acknowledged, at once."""
    options = session.options
    topic = options["topic"]
    partitions = int(options.get("partitions", "6"))
    admin = session.admin()
    admin.create_topics([NewTopic(topic, partitions, -1)])[topic].result(SECONDS)
    rate = int(options.get("rate", "300"))
    producer = session.producer(
        enable_idempotence=True, message_timeout_ms=300_000, request_timeout_ms=10_000, socket_timeout_ms=10_000,
        reconnect_backoff_max_ms=500)
    counts = {"acknowledged": 0, "failed": 0}
    with open(options["out"], "w", buffering=1) as out:
        def answered(error, message):
            counts["failed" if error else "acknowledged"] += 1
            if not error:
                print(message.value().decode(), file=out)

        start = time.monotonic()
        number = 0
        while not os.path.exists(options["until"]):
            producer.poll(max(0, start + number / rate - time.monotonic()))
            content = str(number).encode()
            records.write(producer, topic, key=content, value=content, on_delivery=answered)
            number += 1
        producer.flush(300)
    return counts | {"sent": number}


def drain(session):
    """Reads a topic up to its end; writes to the file the id of each record, as often as it is there."""
    topic = session.options["topic"]
    consumer = session.consumer()
    count = len(consumer.list_topics(topic, timeout=SECONDS).topics[topic].partitions)
    consumer.close()
    found = records.messages(session, topic, count)
    with open(session.options["out"], "w") as out:
        out.writelines(message.value().decode() + "\n" for message in found)
    return {"records": len(found)}
