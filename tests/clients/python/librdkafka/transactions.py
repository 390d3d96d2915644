"""Transactions: committed, aborted, open, with a group's offsets, and two producers under one id."""

from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import OffsetSpec

import contents
import groups
import records
from session import error, partitions
from waiting import SECONDS, until

PARTITIONS = 2


def run(session):
    return {"transactions": {
        "outcomes": outcomes(session), "offsets": offsets(session), "fenced": fenced(session)}}


def producer_of(session, own):
    return session.producer(transactional_id=session.name(own))


def send(producer, topic, what, count):
    return records.send(producer, [
        (topic, number % PARTITIONS, {"value": f"{what} {number}".encode(), "timestamp": contents.TIME})
        for number in range(count)])


def ends(session, topic):
    """Where each kind of reader sees the partitions end."""
    admin = session.admin()
    levels = {"read-committed": IsolationLevel.READ_COMMITTED, "read-uncommitted": IsolationLevel.READ_UNCOMMITTED}
    results = {}
    for name, level in levels.items():
        wanted = {p: OffsetSpec.latest() for p in partitions(topic, PARTITIONS)}
        found = admin.list_offsets(wanted, isolation_level=level, request_timeout=SECONDS)
        results[name] = [future.result(SECONDS).offset for future in found.values()]
    return results


def await_stable(session, topic):
    """Waits until no transaction is open."""
    def stable():
        now = ends(session, topic)
        return now["read-committed"] == now["read-uncommitted"]
    until("no open transaction", stable)


def outcomes(session):
    """A commit, an abort, a commit; then one that is open while others read."""
    topic = session.topic("outcomes", PARTITIONS)
    producer = producer_of(session, "outcomes")
    producer.init_transactions(SECONDS)
    answers = {}
    for what in ["first commit", "abort", "second commit", "open"]:
        producer.begin_transaction()
        answers[what] = send(producer, topic, what, 6)
        if what == "abort":
            producer.abort_transaction(SECONDS)
        elif what != "open":
            producer.commit_transaction(SECONDS)
        if what != "open":
            # So that no reader comes before the markers do.
            await_stable(session, topic)
    results = {"acknowledged": answers, "while-open": ends(session, topic)}
    producer.commit_transaction(SECONDS)
    await_stable(session, topic)
    results["after"] = ends(session, topic)
    for level in ["read_committed", "read_uncommitted"]:
        results[level] = records.read(session, topic, PARTITIONS, isolation_level=level)
    return results


def offsets(session):
    """Consume, transform, produce: the group's offsets are part of the transaction."""
    source = session.topic("in", 1)
    out = session.topic("out", PARTITIONS)
    group = session.name("transformer")
    admin = session.admin()
    records.send(session.producer(), [(source, 0, {"value": f"in {n}".encode()}) for n in range(20)])
    producer = producer_of(session, "transformer")
    producer.init_transactions(SECONDS)
    results = {}
    for ending in ["abort", "commit"]:
        # A new member begins where the group has committed, or at the beginning.
        consumer = session.consumer(group_id=group, isolation_level="read_committed")
        consumer.subscribe([source])
        transform(producer, consumer, out)
        if ending == "abort":
            producer.abort_transaction(SECONDS)
        else:
            producer.commit_transaction(SECONDS)
        consumer.close()
        await_stable(session, out)
        results[f"after-{ending}"] = groups.committed(admin, group)
    results["out"] = records.read(session, out, PARTITIONS, isolation_level="read_committed")
    return results


def transform(producer, consumer, out):
    seen = []

    def ten():
        message = consumer.poll(0.1)
        if message is not None and not message.error():
            seen.append(message)
        return len(seen) == 10

    until("ten records", ten)
    producer.begin_transaction()
    records.send(producer, [
        (out, message.offset() % PARTITIONS, {"value": message.value(), "timestamp": contents.TIME})
        for message in seen])
    last = seen[-1]
    place = TopicPartition(last.topic(), last.partition(), last.offset() + 1, "transformed")
    producer.send_offsets_to_transaction([place], consumer.consumer_group_metadata(), SECONDS)


def fenced(session):
    """A second producer takes the id over: the first one's open transaction is aborted, and its commit refused."""
    topic = session.topic("fenced", PARTITIONS)
    first = producer_of(session, "fenced")
    first.init_transactions(SECONDS)
    first.begin_transaction()
    send(first, topic, "first", 4)
    second = producer_of(session, "fenced")
    second.init_transactions(SECONDS)
    results = {"first-commit": error(lambda: first.commit_transaction(SECONDS))}
    second.begin_transaction()
    send(second, topic, "second", 4)
    second.commit_transaction(SECONDS)
    await_stable(session, topic)
    results["ends"] = ends(session, topic)
    results["read"] = records.read(session, topic, PARTITIONS, isolation_level="read_committed")
    return results
