"""Records to write, as keys, values, timestamps and headers, and records as text."""

import hashlib
import random

# The first explicit timestamp, in milliseconds; the next ones are a second apart.
TIME = 1_700_000_000_000


def noise(length, seed):
    """Bytes that no codec makes smaller, always the same ones."""
    return random.Random(seed).randbytes(length)


def odd():
    """Every odd shape of a record: null and empty keys, values and header values, and headers that share a key."""
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


def line(offset, time, key, value, headers):
    """A record as it was read; `time` is its kind and, if the client set it, the timestamp."""
    headers = ", ".join(f"{name}={shown(content)}" for name, content in headers)
    return f"{offset} {time} key={shown(key)} value={shown(value)} headers=[{headers}]"


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
