"""Getting in: a topic, some records, and a group that reads them and commits; and whether one gets in at all."""

import logging
import re

import records
import security
from patience import PATIENCE, patiently
from session import error
from waiting import until

PARTITIONS = 2
RECORDS = 20


def run(session):
    topic = session.topic("connect", PARTITIONS)
    with session.producer(acks="all") as producer:
        written = [records.send(producer, topic, partition, [
            {"value": f"value {number}".encode()} for number in range(partition, RECORDS, PARTITIONS)])
            for partition in range(PARTITIONS)]
    read, committed = patiently("connect", lambda own: group(session, topic, own))
    return {"connect": {"written": written, "read": read, "committed": committed}}


def group(session, topic, own):
    read = {str(p): [] for p in range(PARTITIONS)}
    with session.consumer(group_id=session.name(own), session_timeout_ms=20_000) as consumer:
        consumer.subscribe([topic])

        def look():
            for record in consumer.poll(0.2):
                read[str(record.partition)].append(record.value.decode())
            return sum(map(len, read.values())) >= RECORDS

        until("all records", look, PATIENCE)
        consumer.commit()
        return read, {str(p): consumer.committed(topic, p)[0] for p in range(PARTITIONS)}


class Heard(logging.Handler):
    """The names of what the log calls a failed authentication: the error that a call ends with is another."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.names = set()

    def emit(self, record):
        self.names |= set(re.findall(r"\b\w*Authentication\w+\b", record.getMessage()))


def login(session):
    """One question to the cluster: does it let us in?"""
    heard = Heard()
    logging.basicConfig(level=logging.WARNING, handlers=[heard, logging.StreamHandler()])

    def ask():
        with session.admin(**session.library.IMPATIENT) as admin:
            session.library.brokers(admin)

    # Over TLS, kafka-python often sees the end of the connection before it reads why the login has failed.
    for _ in range(10):
        outcome = error(ask)
        if outcome == "no error" or heard.names or not security.said("MECHANISM"):
            break
    return {"login": outcome, "heard": sorted(heard.names)}
