"""Transactions: committed, aborted, open, with a group's offsets, and two producers under one id."""

import records
from patience import PATIENCE, patiently
from session import error
from waiting import until

LEVELS = ["read_committed", "read_uncommitted"]


def run(session):
    return {"transactions": {
        "outcomes": outcomes(session), "offsets": offsets(session), "fenced": fenced(session)}}


def producer_of(session, own):
    return session.producer(transactional_id=session.name(own), acks="all")


def send(producer, topic, what, count):
    return records.send(producer, topic, 0, [{"value": f"{what} {number}".encode()} for number in range(count)])


def ends(session, topic):
    """Where each kind of reader sees the partition end."""
    found = {}
    for level in LEVELS:
        with session.consumer(isolation_level=level) as consumer:
            [found[level]] = consumer.end_offsets(session.partitions(topic, 1)).values()
    return found


def await_stable(session, topic):
    """Waits until no transaction is open."""
    until("no open transaction", lambda: len(set(ends(session, topic).values())) == 1)


def outcomes(session):
    """A commit, an abort, a commit; then one that is open while others read."""
    topic = session.topic("outcomes", 1)
    answers = {}
    with producer_of(session, "outcomes") as producer:
        for what in ["first commit", "abort", "second commit", "open"]:
            producer.begin()
            answers[what] = send(producer, topic, what, 6)
            if what == "abort":
                producer.abort()
            elif what != "open":
                producer.commit()
            if what != "open":
                # So that no reader comes before the marker does.
                await_stable(session, topic)
        results = {"acknowledged": answers, "while-open": open_ends(session, topic)}
        producer.commit()
    await_stable(session, topic)
    for level in LEVELS:
        results[level] = records.read(session, topic, 1, isolation_level=level)
    return results


def open_ends(session, topic):
    """The ends while a transaction is open, by what readers of each kind get."""
    return {level: len(records.every(session, topic, 1, isolation_level=level)) for level in LEVELS}


def offsets(session):
    """Consume, transform, produce: the group's offsets are part of the transaction."""
    source = session.topic("in", 1)
    out = session.topic("out", 1)
    with session.producer(acks="all") as producer:
        records.send(producer, source, 0, [{"value": f"in {number}".encode()} for number in range(10)])
    results = {}
    with producer_of(session, "transformer") as producer:
        for ending in ["abort", "commit"]:
            results[f"after-{ending}"] = patiently(
                f"transformer-{ending}", lambda group: transformed(session, producer, group, source, out, ending))
    return results | {"out": records.read(session, out, 1, isolation_level="read_committed")}


def transformed(session, producer, group, source, out, ending):
    """What a new group has committed after a transaction that ended so."""
    with session.consumer(group_id=session.name(group), isolation_level="read_committed") as consumer:
        consumer.subscribe([source])
        transform(session, producer, consumer, out)
        getattr(producer, ending)()
        await_stable(session, out)
        return consumer.committed(source, 0)


def transform(session, producer, consumer, out):
    seen = []

    def ten():
        seen.extend(consumer.poll())
        return len(seen) == 10

    until("ten records", ten, PATIENCE)
    producer.begin()
    records.send(producer, out, 0, [{"value": record.value} for record in seen])
    place = session.library.place(seen[-1].offset + 1, "transformed")
    producer.send_offsets({session.partitions(seen[-1].topic, 1)[0]: place}, consumer.group())


def fenced(session):
    """A second producer takes the id over: the first one's open transaction is aborted, and its commit refused."""
    topic = session.topic("fenced", 1)
    with producer_of(session, "fenced") as first:
        first.begin()
        send(first, topic, "first", 4)
        with producer_of(session, "fenced") as second:
            results = {"first-commit": error(first.commit)}
            second.begin()
            send(second, topic, "second", 4)
            second.commit()
        await_stable(session, topic)
    return results | {"read": records.read(session, topic, 1, isolation_level="read_committed")}
