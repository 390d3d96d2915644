"""Writing records, and reading them back as text."""

import confluent_kafka
from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException

import contents
from session import partitions
from waiting import SECONDS, until

TYPES = {
    confluent_kafka.TIMESTAMP_NOT_AVAILABLE: "NoTimestamp",
    confluent_kafka.TIMESTAMP_CREATE_TIME: "CreateTime",
    confluent_kafka.TIMESTAMP_LOG_APPEND_TIME: "LogAppendTime",
}


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
    time = f"{TYPES[kind]} {timestamp}" if TYPES[kind] == "CreateTime" else TYPES[kind]
    text = contents.line(message.offset(), time, message.key(), message.value(), message.headers() or [])
    return text if message.leader_epoch() is not None else text + " without epoch"
