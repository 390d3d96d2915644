"""What a client meets that may read and write `open`, read in the group `mine` and write as `mine`, and nothing else.

`--direct` is a bootstrap address at which everything may be done.
"""

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from session import error, outcome
from waiting import SECONDS, until


def run(session):
    direct = AdminClient({"bootstrap.servers": session.options["direct"]})
    names = [session.name("open"), session.name("secret")]
    for future in direct.create_topics([NewTopic(name, 1, 1) for name in names]).values():
        future.result(SECONDS)
    for name in names:
        until(f"topic {name}", lambda name=name: session.is_led(direct, name, 1))
    return {"rules": {
        "produce": produce(session, *names),
        "transactions": transactions(session, *names),
        "consume": consume(session, *names),
        "admin": admin(session, *names),
        "written": end(session, direct, names[1]),
    }}


def end(session, direct, topic):
    consumer = session.consumer(bootstrap_servers=session.options["direct"])
    try:
        return consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=SECONDS)[1]
    finally:
        consumer.close()


def sent(producer, topic):
    """Kafka's name for what became of a record."""
    told = []
    try:
        producer.produce(topic, b"value", partition=0, on_delivery=lambda error, _: told.append(error))
    except KafkaException as failure:
        return failure.args[0].name()
    producer.flush(SECONDS)
    return told[0].name() if told and told[0] else "no error"


def produce(session, open_topic, secret):
    producer = session.producer(enable_idempotence=True)
    return {"open": sent(producer, open_topic), "secret": sent(producer, secret), "again": sent(producer, open_topic)}


def transactions(session, open_topic, secret):
    theirs = session.producer(transactional_id=session.name("theirs"))
    results = {"theirs": error(lambda: theirs.init_transactions(SECONDS))}
    mine = session.producer(transactional_id=session.name("mine"))
    mine.init_transactions(SECONDS)
    mine.begin_transaction()
    results["open"] = sent(mine, open_topic)
    mine.commit_transaction(SECONDS)
    mine.begin_transaction()
    results["secret"] = sent(mine, secret)
    mine.abort_transaction(SECONDS)
    return results


def polled(consumer, count):
    """Values, and Kafka's names for errors, until there are so many of either."""
    found = []

    def more():
        message = consumer.poll(0.1)
        if message is not None:
            found.append(message.error().name() if message.error() else message.value().decode())
        return len(found) >= count

    until("records", more)
    return found


def consume(session, open_topic, secret):
    results = {}
    consumer = session.consumer(group_id=session.name("theirs"))
    consumer.subscribe([open_topic])
    results["their group"] = polled(consumer, 1)
    consumer.close()
    consumer = session.consumer(group_id=session.name("mine"))
    consumer.subscribe([open_topic])
    results["my group"] = polled(consumer, 3)
    partition = TopicPartition(secret, 0, 0)
    results["commit"] = error(lambda: consumer.commit(offsets=[partition], asynchronous=False))
    consumer.close()
    consumer = session.consumer(group_id=session.name("mine"))
    consumer.subscribe([open_topic, secret])
    found = polled(consumer, 4)
    results["subscribed"] = [sorted(set(found)), found.count("value")]
    consumer.close()
    return results


def admin(session, open_topic, secret):
    client = session.admin()
    topics = client.list_topics(timeout=SECONDS).topics
    config = ConfigResource(ConfigResource.Type.TOPIC, secret)
    missing = session.name("none")
    new = NewTopic(session.name("new"), 1, 1)
    return {
        "topics": sorted(session.own(name) for name in topics if name.startswith(session.prefix)),
        "describe": client.list_topics(secret, timeout=SECONDS).topics[secret].error.name(),
        "missing": client.list_topics(missing, timeout=SECONDS).topics[missing].error.name(),
        "create": outcome(client.create_topics([new])[new.topic]),
        "delete": outcome(client.delete_topics([secret])[secret]),
        "delete mine": outcome(client.delete_topics([open_topic])[open_topic]),
        "configs": outcome(client.describe_configs([config])[config]),
        "cluster": outcome(client.describe_cluster()),
    }
