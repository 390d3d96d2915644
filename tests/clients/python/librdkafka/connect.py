"""Getting in: a topic, some records, and a group that reads them and commits."""

from confluent_kafka import TopicPartition

import records
from waiting import until

PARTITIONS = 2
RECORDS = 20


def run(session):
    topic = session.topic("connect", PARTITIONS)
    answers = records.send(session.producer(), [
        (topic, number % PARTITIONS, {"value": f"value {number}".encode()}) for number in range(RECORDS)])
    consumer = session.consumer(group_id=session.name("connect"), session_timeout_ms=20_000)
    consumer.subscribe([topic])
    read = {str(p): [] for p in range(PARTITIONS)}

    def look():
        for message in consumer.consume(RECORDS, timeout=0.1):
            if message.error() is None:
                read[str(message.partition())].append(message.value().decode())
        return sum(map(len, read.values())) >= RECORDS

    until("all records", look)
    consumer.commit(asynchronous=False)
    places = consumer.committed([TopicPartition(topic, p) for p in range(PARTITIONS)])
    consumer.close()
    return {"connect": {"written": answers, "read": read, "committed": {str(p): places[p].offset for p in range(PARTITIONS)}}}
