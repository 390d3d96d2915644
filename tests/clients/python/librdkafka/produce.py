"""Every kind of acknowledgement under every codec; odd and large records; all of it read back."""

import time

from confluent_kafka import KafkaException

import contents
import records
from session import error, partitions
from waiting import SECONDS, until

ACKS = ["0", "1", "all"]
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
MEGABYTE = 1_000_000


def run(session):
    written = {}
    read = {}
    for codec in CODECS:
        written[codec], read[codec] = one_codec(session, codec)
    written["large"], read["large"] = large(session)
    written["append-time"], read["append-time"] = append_time(session)
    written["errors"] = errors(session)
    return {"produce": written, "consume": read}


def one_codec(session, codec):
    """A topic per codec, a partition per kind of acknowledgement."""
    topic = session.topic(codec, len(ACKS))
    odd = contents.odd()
    consumer = session.consumer()
    # A leader that has not heard of its partition yet drops what wants no acknowledgement.
    until("leaders that know their partitions", lambda: ends(consumer, topic) is not None)
    answers = {}
    for partition, acks in enumerate(ACKS):
        producer = session.producer(acks=acks, compression_type=codec, linger_ms=5)
        answers[acks] = records.send(producer, [(topic, partition, record) for record in odd])
    # Without all acknowledgements, a producer may end before the records are where consumers see them.
    until("all records", lambda: min(ends(consumer, topic) or [0]) >= len(odd))
    consumer.close()
    return answers, records.read(session, topic, len(ACKS))


def ends(consumer, topic):
    """The ends of all partitions, as their leaders say them; None if one does not."""
    try:
        return [consumer.get_watermark_offsets(p, timeout=SECONDS)[1] for p in partitions(topic, len(ACKS))]
    except KafkaException:
        return None


def large(session):
    """Records of 1 MB under every codec, of 20 MB under some: a slow codec shows nothing more with the larger."""
    topic = session.topic("large", len(CODECS))
    answers = {}
    for partition, codec in enumerate(CODECS):
        sizes = [1, 1] if codec == "gzip" else [1, 1, 20]
        producer = session.producer(compression_type=codec)
        answers[codec] = records.send(producer, [
            (topic, partition, {"value": contents.noise(size * MEGABYTE, partition), "timestamp": contents.TIME})
            for size in sizes])
    read = records.read(session, topic, len(CODECS))
    admin = session.admin()
    admin.delete_topics([topic])[topic].result(SECONDS)
    return answers, read


def append_time(session):
    """A topic whose broker sets the timestamps."""
    topic = session.topic("append-time", 1, message_timestamp_type="LogAppendTime")
    before = time.time() * 1000 - 1000
    producer = session.producer()
    delivered = []
    producer.produce(topic, partition=0, value=b"value", timestamp=contents.TIME,
                     on_delivery=lambda error, message: delivered.append(message))
    producer.flush(SECONDS)
    kind, timestamp = delivered[0].timestamp()
    return {"kind": kind, "by-broker": timestamp >= before}, records.read(session, topic, 1)


def errors(session):
    """What a broker refuses."""
    tight = session.topic("tight", 1, max_message_bytes="1000")
    compacted = session.topic("compacted", 1, cleanup_policy="compact")
    producer = session.producer(message_timeout_ms=2000)
    return {
        "too-large": records.send(producer, [(tight, 0, {"value": contents.noise(5000, 1)})]),
        "without-key": records.send(producer, [(compacted, 0, {"value": b"value"})]),
        "no-topic": error(lambda: records.send(producer, [(session.name("absent"), 0, {"value": b"v"})])),
    }
