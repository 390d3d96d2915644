"""What administrators do with topics, partitions and the cluster; groups are in `group_admin`."""

from confluent_kafka import ElectionType, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

import contents
import group_admin
import records
from lacking import absent
from session import error, outcome, partitions
from waiting import SECONDS, until


def run(session):
    admin = session.admin()
    made = topics(session, admin)
    results = {
        "configs": configs(session, admin),
        "partitions": partition_offsets(session, admin) | extend(session, admin),
        "delete-records": delete_records(session, admin),
        "cluster": cluster(admin),
        "log-dirs": absent(AdminClient, "describe_log_dirs", "describe_replica_log_dirs"),
        "reassignments": absent(AdminClient, "alter_partition_reassignments", "list_partition_reassignments"),
        "producers": absent(AdminClient, "describe_producers"),
        "list-transactions": absent(AdminClient, "list_transactions", "describe_transactions"),
        "quotas": absent(AdminClient, "describe_client_quotas", "alter_client_quotas"),
        "features": absent(AdminClient, "describe_features"),
    }
    results |= group_admin.run(session, admin)
    return results | {"topics": made | {"delete": delete(session, admin)}}


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
    def described():
        found = admin.describe_topics(TopicCollection([*names, session.name("absent")]))
        errors = {session.own(name): outcome(future) for name, future in found.items()}
        # Not every broker may have heard of them yet.
        return errors, [description(session, found[name]) for name in names if outcome(found[name]) == "no error"]

    results["described"] = until("their descriptions", lambda: next(
        (found for found in [described()] if len(found[1]) == len(names)), None))
    return results


def extend(session, admin):
    """More partitions for a topic."""
    topic = session.name("plain")
    wanted = {"fewer": NewPartitions(topic, 2), "more": NewPartitions(topic, 5),
              "absent": NewPartitions(session.name("absent"), 5)}
    results = {
        what: [outcome(future) for future in admin.create_partitions([new]).values()] for what, new in wanted.items()}
    until("five partitions", lambda: len(listed(admin)[topic].partitions) == 5)
    return {"extend": results}


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


def partition_offsets(session, admin):
    """Offsets by administrators, and elections."""
    topic = session.topic("partitions", 1)
    records.send(session.producer(), [
        (topic, 0, {"value": f"v{n}".encode(), "timestamp": contents.TIME + (50_000 if n == 6 else 1000 * n)})
        for n in range(10)])
    [partition] = partitions(topic, 1)
    specs = {
        "earliest": OffsetSpec.earliest(), "latest": OffsetSpec.latest(),
        "max-timestamp": OffsetSpec.max_timestamp(), "time": OffsetSpec.for_timestamp(contents.TIME + 2_500),
    }
    results = {}
    for name, spec in specs.items():
        found = admin.list_offsets({partition: spec})[partition].result(SECONDS)
        results[name] = [found.offset, found.timestamp]
    elected = admin.elect_leaders(ElectionType.PREFERRED, [partition]).result(SECONDS)
    return results | {"elect": [error.name() if error else "no error" for error in elected.values()]}


def delete_records(session, admin):
    topic = session.name("partitions")
    results = {}
    for offset in [4, 400]:
        [future] = admin.delete_records([TopicPartition(topic, 0, offset)]).values()
        error = outcome(future)
        results[f"before-{offset}"] = error if error != "no error" else future.result().low_watermark
    return results | {"left": len(records.messages(session, topic, 1))}


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
