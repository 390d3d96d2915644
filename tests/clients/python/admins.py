"""What administrators do with topics, partitions and the cluster; groups are in `group_admin`."""

from confluent_kafka import ElectionType, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

import group_admin
import records
from session import SECONDS, error, outcome, partitions, until


def run(session):
    admin = session.admin()
    return {
        "topics": topics(session, admin),
        "configs": configs(session, admin),
        "partitions": truncation(session, admin),
        "cluster": cluster(admin),
        "groups": group_admin.run(session, admin),
        "delete": delete(session, admin),
    }


def topics(session, admin):
    news = {
        "plain": NewTopic(session.name("plain"), 3, -1),
        "configured": NewTopic(session.name("configured"), 1, -1, config={"cleanup.policy": "compact"}),
        "bad-name": NewTopic(session.name("not/a*name"), 1, 1),
        "many-replicas": NewTopic(session.name("many"), 1, 30),
        "bad-config": NewTopic(session.name("config"), 1, -1, config={"no.such.config": "1"}),
    }
    # To its end before the topics are made: librdkafka may send two requests that wait for the controller in any order.
    dry = {topic: outcome(future) for topic, future in admin.create_topics([news["plain"]], validate_only=True).items()}
    made = admin.create_topics(list(news.values()))
    results = {
        "dry": list(dry.values()),
        "made": {own: outcome(made[topic.topic]) for own, topic in news.items()},
        "again": [outcome(future) for future in admin.create_topics([news["plain"]]).values()],
    }
    names = [news["plain"].topic, news["configured"].topic]
    until("the new topics", lambda: all(name in listed(admin) for name in names))
    results["listed"] = sorted(session.own(name) for name in listed(admin) if name.startswith(session.prefix))
    extend = {"fewer": NewPartitions(names[0], 2), "more": NewPartitions(names[0], 5),
              "absent": NewPartitions(session.name("absent"), 5)}
    results["extend"] = {
        what: [outcome(future) for future in admin.create_partitions([new]).values()]
        for what, new in extend.items()}
    until("five partitions", lambda: len(listed(admin)[names[0]].partitions) == 5)

    def described():
        found = admin.describe_topics(TopicCollection([*names, session.name("absent")]))
        errors = {session.own(name): outcome(future) for name, future in found.items()}
        # Not every broker may have heard of them yet.
        return errors, [description(session, found[name]) for name in names if outcome(found[name]) == "no error"]

    results["described"] = until("their descriptions", lambda: next(
        (found for found in [described()] if len(found[1]) == len(names)), None))
    return results


def listed(admin):
    return admin.list_topics(timeout=SECONDS).topics


def description(session, future):
    topic = future.result()
    return {
        "name": session.own(topic.name), "internal": topic.is_internal, "has-id": topic.topic_id is not None,
        "partitions": [[p.id, p.leader is not None, len(p.replicas), len(p.isr)] for p in topic.partitions],
    }


def configs(session, admin):
    name = session.name("configured")

    def entries():
        [future] = admin.describe_configs([ConfigResource(ResourceType.TOPIC, name)]).values()
        return {entry.name: [entry.value, entry.source, entry.is_read_only, entry.is_sensitive]
                for entry in future.result(SECONDS).values()}

    def alter(key, value, operation=AlterConfigOpType.SET):
        change = ConfigEntry(key, value, incremental_operation=operation)
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[change])
        return [outcome(future) for future in admin.incremental_alter_configs([resource]).values()]

    results = {
        "before": entries(),
        "set": alter("retention.ms", "12345678"),
        "append": alter("cleanup.policy", "delete", AlterConfigOpType.APPEND),
        "wrong": alter("retention.ms", "many"),
    }
    after = until("the changes", lambda: next(
        (found for found in [entries()] if found["cleanup.policy"][0] == "compact,delete"), None))
    return results | {"after": after}


def truncation(session, admin):
    """Offsets by administrators, deleted records, elections."""
    topic = session.topic("partitions", 1)
    records.send(session.producer(), [
        (topic, 0, {"value": f"v{n}".encode(), "timestamp": records.TIME + (50_000 if n == 6 else 1000 * n)})
        for n in range(10)])
    [partition] = partitions(topic, 1)
    specs = {
        "earliest": OffsetSpec.earliest(), "latest": OffsetSpec.latest(),
        "max-timestamp": OffsetSpec.max_timestamp(), "time": OffsetSpec.for_timestamp(records.TIME + 2_500),
    }
    results = {}
    for name, spec in specs.items():
        found = admin.list_offsets({partition: spec})[partition].result(SECONDS)
        results[name] = [found.offset, found.timestamp]
    for offset in [4, 400]:
        [future] = admin.delete_records([TopicPartition(topic, 0, offset)]).values()
        error = outcome(future)
        results[f"delete-{offset}"] = error if error != "no error" else future.result().low_watermark
    results["left"] = len(records.messages(session, topic, 1))
    elected = admin.elect_leaders(ElectionType.PREFERRED, [partition]).result(SECONDS)
    results["elect"] = [error.name() if error else "no error" for error in elected.values()]
    return results


def cluster(admin):
    found = admin.describe_cluster().result(SECONDS)
    ids = sorted(node.id for node in found.nodes)
    broker = ConfigResource(ResourceType.BROKER, str(ids[0]))
    [future] = admin.describe_configs([broker]).values()
    return {
        "nodes": len(ids), "distinct-ids": len(set(ids)),
        "distinct-addresses": len({(node.host, node.port) for node in found.nodes}),
        "controller-is-a-node": found.controller.id in ids, "has-id": bool(found.cluster_id),
        "broker-configs": sorted(future.result(SECONDS)),
    }


def delete(session, admin):
    names = [session.name(own) for own in ["plain", "configured", "absent"]]
    deleted = admin.delete_topics(names)
    results = {session.own(name): outcome(future) for name, future in deleted.items()}
    until("their end", lambda: not any(name in listed(admin) for name in names))
    return results | {"unknown": error(lambda: admin.delete_topics([names[0]])[names[0]].result(SECONDS))}
