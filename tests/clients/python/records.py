"""Records to write, and records as text."""

import hashlib
import random

import confluent_kafka
from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException

from session import SECONDS, partitions, until

# The first explicit timestamp, in milliseconds; the next ones are a second apart.
TIME = 1_700_000_000_000
TYPES = {
    confluent_kafka.TIMESTAMP_NOT_AVAILABLE: "NoTimestamp",
    confluent_kafka.TIMESTAMP_CREATE_TIME: "CreateTime",
    confluent_kafka.TIMESTAMP_LOG_APPEND_TIME: "LogAppendTime",
}


def noise(length, seed):
    """Bytes that no codec makes smaller, always the same ones."""
    return random.Random(seed).randbytes(length)


def odd():
    """Every odd shape of a record, as arguments of `produce`."""
    contents = [None, b"", b"text", "Grüße, 世界".encode(), noise(300, 7), bytes(5_000)]
    records = []
    for key in contents:
        for value in contents:
            number = len(records)
            record = {"key": key, "value": value, "timestamp": TIME + 1000 * number}
            if number % 3 == 0:
                record["headers"] = [
                    ("twice", b"first"), ("other", None), ("twice", b"second"), ("twice", None), ("", b""),
                    ("ключ", noise(40, number)),
                ]
            records.append(record)
    return records


def send(producer, records):
    """Writes `(topic, partition, record)`s and returns what each was answered, in their order."""
    answers = [None] * len(records)

    def answered(number):
        def callback(error, message):
            answers[number] = error.name() if error else (message.partition(), message.offset())
        return callback

    for number, (topic, partition, record) in enumerate(records):
        write(producer, topic, partition=partition, on_delivery=answered(number), **record)
    if producer.flush(SECONDS):
        raise TimeoutError(f"not delivered: {answers.count(None)} of {len(answers)}")
    return answers


def write(producer, topic, **record):
    """`produce`, waiting while the queue is full."""
    while True:
        try:
            return producer.produce(topic, **record)
        except BufferError:
            producer.poll(0.1)


def read(session, topic, count, **more):
    """All that a topic holds, by partition, as `line` writes it."""
    lines = {str(p): [] for p in range(count)}
    for message in messages(session, topic, count, **more):
        lines[str(message.partition())].append(line(message))
    return lines


def messages(session, topic, count, **more):
    """What a topic holds, up to where it ends now."""
    consumer = session.consumer(enable_partition_eof=True, **more)
    consumer.assign(partitions(topic, count, OFFSET_BEGINNING))
    ended = set()
    found = []

    def look():
        for message in consumer.consume(500, timeout=0.1):
            if message.error() is None:
                found.append(message)
            elif message.error().code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition())
            else:
                raise KafkaException(message.error())
        return len(ended) == count

    until(f"the end of {topic}", look)
    consumer.close()
    return found


def line(message):
    kind, timestamp = message.timestamp()
    headers = [f"{key}={shown(value)}" for key, value in message.headers() or []]
    time = f" {timestamp}" if TYPES[kind] == "CreateTime" else ""
    epoch = "" if message.leader_epoch() is not None else " without epoch"
    return (
        f"{message.offset()} {TYPES[kind]}{time} key={shown(message.key())} value={shown(message.value())}"
        f" headers=[{', '.join(headers)}]{epoch}"
    )


def shown(content):
    """Short printable contents as they are, others as length and hash."""
    if content is None:
        return "null"
    try:
        text = content.decode()
        if len(text) < 40 and text.isprintable():
            return f"'{text}'"
    except UnicodeDecodeError:
        pass
    return f"{len(content)}:{hashlib.sha256(content).hexdigest()[:16]}"
