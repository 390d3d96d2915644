"""Writing records, and reading them back as text."""

import contents
from waiting import until

TYPES = {0: "CreateTime", 1: "LogAppendTime"}


def accepted():
    """The odd records that both libraries take: a key or a value, and no header without a value."""
    records = [record for record in contents.odd() if record["key"] is not None or record["value"] is not None]
    for record in records:
        record["headers"] = [(name, value) for name, value in record.get("headers", []) if value is not None]
    return records


def send(producer, topic, partition, records):
    """Writes records of one partition and returns the offset of each, or the error."""
    waiting = [producer.send(topic, partition, **{"key": None, "timestamp": contents.TIME, "headers": []} | record)
               for record in records]
    producer.flush()
    return [answer(wait) for wait in waiting]


def answer(wait):
    try:
        found = wait()
        return found and found.offset
    except Exception as failure:
        return type(failure).__name__


def read(session, topic, count, **more):
    """All that a topic holds, by partition, as `line` writes it."""
    lines = {str(partition): [] for partition in range(count)}
    for record in every(session, topic, count, **more):
        lines[str(record.partition)].append(line(record))
    return lines


def every(session, topic, count, **more):
    """What a topic holds, up to where it ends now."""
    found = []
    with session.consumer(**more) as consumer:
        partitions = session.partitions(topic, count)
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        for partition in partitions:
            consumer.seek(partition, 0)

        def look():
            found.extend(consumer.poll(0.1))
            return all(consumer.position(partition) >= end for partition, end in ends.items())

        until(f"the end of {topic}", look)
    return found


def line(record):
    kind = TYPES[record.timestamp_type]
    time = f"{kind} {record.timestamp}" if kind == "CreateTime" else kind
    return contents.line(record.offset, time, record.key, record.value, record.headers)
