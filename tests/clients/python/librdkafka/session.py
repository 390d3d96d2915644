"""The clients of a run, and what they answer."""

from confluent_kafka import Consumer, KafkaException, Producer, ShareConsumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import security
from program import Arguments
from waiting import SECONDS, until

# Room for a record of 20 MB.
LARGE = 32 << 20


class Session(Arguments):
    def __init__(self, arguments):
        super().__init__(arguments)
        self.properties["bootstrap.servers"] = self.bootstrap
        self.properties["log_level"] = "4"
        self.properties |= secured()

    def admin(self):
        return AdminClient(dict(self.properties))

    def producer(self, **more):
        """Properties as keyword arguments, with `_` for `.`."""
        settings = {"message.max.bytes": LARGE, "queue.buffering.max.kbytes": 4 * LARGE // 1024}
        return Producer(self.properties | settings | dotted(more))

    def consumer(self, **more):
        settings = {
            "group.id": self.name("nobody"),
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.message.max.bytes": LARGE,
            "fetch.max.bytes": LARGE,
            "receive.message.max.bytes": 2 * LARGE,
            "fetch.wait.max.ms": 100,
            "fetch.error.backoff.ms": 50,
            "check.crcs": True,
        }
        return Consumer(self.properties | settings | dotted(more))

    def share_consumer(self, **more):
        return ShareConsumer(self.properties | dotted(more))

    def topic(self, own, partitions, **configs):
        """Creates a topic with the cluster's own replication factor and returns its whole name."""
        name = self.name(own)
        admin = self.admin()
        new = NewTopic(name, num_partitions=partitions, replication_factor=-1, config=dotted(configs))
        admin.create_topics([new])[name].result(SECONDS)
        until(f"topic {own}", lambda: self.is_led(admin, name, partitions))
        return name

    @staticmethod
    def is_led(admin, name, partitions):
        found = admin.list_topics(name, timeout=SECONDS).topics[name]
        return found.error is None and [p.leader >= 0 for p in found.partitions.values()] == [True] * partitions


def secured():
    """What the environment says of security, in librdkafka's words."""
    names = {"security.protocol": "PROTOCOL", "sasl.mechanism": "MECHANISM", "ssl.ca.location": "CA",
             "ssl.certificate.location": "CERTIFICATE", "ssl.key.location": "KEY"}
    if security.said("TOKEN_ENDPOINT"):
        names |= {"sasl.oauthbearer.token.endpoint.url": "TOKEN_ENDPOINT",
                  "sasl.oauthbearer.client.id": "USERNAME", "sasl.oauthbearer.client.secret": "PASSWORD"}
    else:
        names |= {"sasl.username": "USERNAME", "sasl.password": "PASSWORD"}
    found = {name: security.said(own) for name, own in names.items() if security.said(own)}
    if security.said("TOKEN_ENDPOINT"):
        found["sasl.oauthbearer.method"] = "oidc"
    if security.said("TOKEN_FILE"):
        found["oauth_cb"] = token
    return found


def token(_):
    found = security.token()
    return found, security.expiry(found)


def dotted(properties):
    """Callbacks keep their names."""
    return {key if key.endswith("_cb") else key.replace("_", "."): value for key, value in properties.items()}


def error(call):
    """Kafka's name for what a call fails with, or "no error"."""
    try:
        call()
        return "no error"
    except KafkaException as failure:
        return failure.args[0].name()


def outcome(future):
    """The same for a future."""
    return error(lambda: future.result(SECONDS))


def partitions(topic, count, offset=None):
    return [TopicPartition(topic, p) if offset is None else TopicPartition(topic, p, offset) for p in range(count)]
