"""The clients of a run, of one of the two libraries, and what they answer."""

from contextlib import contextmanager

import security
from program import Arguments
from waiting import until

# Room for a record of 1 MB.
LARGE = 4 << 20


class Session(Arguments):
    def __init__(self, library, arguments):
        super().__init__(arguments)
        self.library = library
        self.configs = {key.replace(".", "_"): value for key, value in self.properties.items()}
        self.configs["bootstrap_servers"] = self.bootstrap.split(",")
        self.configs |= secured(library)

    @contextmanager
    def producer(self, **more):
        producer = self.library.Producer(**self.configs, **{"max_request_size": LARGE} | more)
        yield producer
        producer.close()

    @contextmanager
    def consumer(self, **more):
        consumer = self.new_consumer(**more)
        yield consumer
        consumer.close()

    def new_consumer(self, **more):
        settings = {"enable_auto_commit": False, "auto_offset_reset": "earliest", "max_partition_fetch_bytes": LARGE,
                    "fetch_max_wait_ms": 100, "metadata_max_age_ms": 5_000}
        return self.library.Consumer(**self.configs, **settings | more)

    @contextmanager
    def admin(self, **more):
        admin = self.library.admin(**self.configs, **more)
        yield admin
        admin.close()

    def topic(self, own, partitions, **configs):
        """Creates a topic with three replicas, or the default of the cluster, and returns its whole name."""
        name = self.name(own)
        with self.admin() as admin:
            self.library.create_topic(admin, name, partitions, {k.replace("_", "."): v for k, v in configs.items()})
            until(f"topic {own}", lambda: self.library.leaders(admin, name).count(True) == partitions)
        return name

    def partitions(self, topic, count):
        return [self.library.TopicPartition(topic, partition) for partition in range(count)]


def secured(library):
    """What the environment says of security, in the words of both libraries."""
    if not security.said("PROTOCOL"):
        return {}
    configs = {"security_protocol": security.said("PROTOCOL"), "ssl_context": security.context()}
    if security.said("MECHANISM"):
        configs["sasl_mechanism"] = security.said("MECHANISM")
    if security.said("MECHANISM") == "OAUTHBEARER":
        configs["sasl_oauth_token_provider"] = library.Tokens()
    elif security.said("MECHANISM"):
        configs |= {"sasl_plain_username": security.said("USERNAME"), "sasl_plain_password": security.said("PASSWORD")}
    return configs


def settled(what, look):
    """The first true answer; a broker may not have heard yet of what another has made, and say so by an error."""
    def quiet():
        try:
            return look()
        except Exception:
            return None

    return until(what, quiet)


def error(call):
    """The name of the error that a call fails with, or "no error"."""
    try:
        call()
        return "no error"
    except Exception as failure:
        return type(failure).__name__
