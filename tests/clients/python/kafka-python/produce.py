"""Every kind of acknowledgement under every codec; odd and large records; all of it read back."""

import contents
import records
from session import error
from waiting import until

# Without an acknowledgement last: by then the broker is known to know the topic.
ACKS = ["all", 1, 0]
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def run(session):
    written = {}
    read = {}
    for codec in CODECS:
        written[codec], read[codec] = one_codec(session, codec)
    written["append-time"], read["append-time"] = append_time(session)
    written["errors"] = errors(session)
    return {"produce": written, "consume": read}


def named(codec):
    return None if codec == "none" else codec


def one_codec(session, codec):
    """A topic per codec, a partition for all kinds of acknowledgements, and one for a record of 1 MB."""
    topic = session.topic(codec, 2)
    odd = records.accepted()
    answers = {}
    for acks in ACKS:
        with session.producer(acks=acks, compression_type=named(codec), enable_idempotence=False) as producer:
            sent = records.send(producer, topic, 0, odd)
            # Without an acknowledgement nobody knows the offset.
            answers[str(acks)] = sent if acks else len(sent)
    with session.producer(acks="all", compression_type=named(codec), enable_idempotence=False) as producer:
        answers["large"] = records.send(producer, topic, 1, [{"value": contents.noise(1_000_000, 1)}])
    # Without all acknowledgements, a producer may end before the records are where consumers see them.
    with session.consumer() as consumer:
        [first] = session.partitions(topic, 1)
        until("all records", lambda: consumer.end_offsets([first])[first] >= len(ACKS) * len(odd))
    return answers, records.read(session, topic, 2)


def append_time(session):
    """A topic whose broker sets the timestamps."""
    topic = session.topic("append-time", 1, message_timestamp_type="LogAppendTime")
    with session.producer(acks="all") as producer:
        answers = records.send(producer, topic, 0, [{"value": b"value"}])
    return answers, records.read(session, topic, 1)


def errors(session):
    """What a broker refuses."""
    tight = session.topic("tight", 1, max_message_bytes="1000")
    compacted = session.topic("compacted", 1, cleanup_policy="compact")
    with session.producer(acks="all", enable_idempotence=False, request_timeout_ms=3_000) as producer:
        return {
            "too-large": records.send(producer, tight, 0, [{"value": contents.noise(5000, 1)}]),
            "without-key": error(lambda: records.send(producer, compacted, 0, [{"value": b"value"}])),
        }
