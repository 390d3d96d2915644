"""What administrators do, with aiokafka."""

import records
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import for_code
from lacking import absent
from session import error, settled
from waiting import until


def run(session):
    with session.admin() as admin:
        results = {
            "topics": topics(session, admin),
            "configs": configs(session, admin),
            "cluster": cluster(admin),
            "partitions": partitions(session, admin),
            "delete-records": delete_records(session, admin),
        }
        results["groups"], results["offsets"] = groups(session, admin)
    lacking = {
        "log-dirs": ["describe_log_dirs"],
        "reassignments": ["alter_partition_reassignments", "list_partition_reassignments"],
        "producers": ["describe_producers"],
        "list-transactions": ["list_transactions", "describe_transactions"],
        "quotas": ["describe_client_quotas", "alter_client_quotas"],
        "features": ["describe_features"],
    }
    return results | {feature: absent(AIOKafkaAdminClient, *names) for feature, names in lacking.items()}


def made(admin, *arguments, **more):
    """What the broker makes of a new topic."""
    response = admin.create_topics([NewTopic(*arguments)], **more)
    return [for_code(code).__name__ for _, code, *_ in response.topic_errors]


def topics(session, admin):
    name = session.name("plain")
    results = {
        "dry": made(admin, name, 3, 3, validate_only=True),
        "made": made(admin, name, 3, 3),
        "again": made(admin, name, 3, 3),
        "bad-name": made(admin, session.name("not/a*name"), 1, 1),
        "many-replicas": made(admin, session.name("many"), 1, 30),
    }

    def described():
        [topic] = admin.describe_topics([name])
        leaders = [found["leader"] >= 0 for found in topic["partitions"]]
        replicas = [len(found["replicas"]) for found in topic["partitions"]]
        return leaders == [True] * 3 and [session.own(topic["topic"]), topic["is_internal"], replicas]

    results["described"] = settled("the topic", described)
    results["listed"] = until("the topic in the list", lambda: [
        session.own(found) for found in admin.list_topics() if found.startswith(session.prefix)])
    return results | {"delete": deleted(admin, name)}


def deleted(admin, name):
    response = admin.delete_topics([name])
    until("its end", lambda: name not in admin.list_topics())
    return [for_code(code).__name__ for _, code, *_ in response.topic_error_codes]


def configs(session, admin):
    name = session.topic("configured", 1, cleanup_policy="compact")

    def entries():
        [response] = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)])
        [(_, _, _, _, found)] = response.resources
        return {key: value for key, value, *_ in found}

    def alter(**changes):
        responses = admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, changes)])
        return [for_code(code).__name__ for response in responses for code, *_ in response.resources]

    results = {
        "before": settled("the configurations", entries),
        "set": alter(**{"retention.ms": "12345678"}),
        "wrong": alter(**{"retention.ms": "many"}),
    }

    def changed():
        found = entries()
        return found["retention.ms"] == "12345678" and found

    return results | {"after": settled("the change", changed)}


def partitions(session, admin):
    """More partitions for a topic."""
    name = session.topic("partitions", 1)
    results = [error(lambda: admin.create_partitions({name: NewPartitions(count)})) for count in [1, 2]]
    until("two partitions", lambda: session.library.leaders(admin, name) == [True] * 2)
    return results


def delete_records(session, admin):
    topic = session.name("partitions")
    with session.producer(acks="all") as producer:
        records.send(producer, topic, 0, [{"value": f"v{number}".encode()} for number in range(10)])
    [first] = session.partitions(topic, 1)
    return {
        "before-4": admin.delete_records({first: RecordsToDelete(4)})[first],
        "before-400": error(lambda: admin.delete_records({first: RecordsToDelete(400)})),
        "left": [record.offset for record in records.every(session, topic, 1)],
    }


def groups(session, admin):
    """A group while a member is there and after, and its offsets."""
    group = session.name("group")
    topic = session.name("partitions")
    with session.consumer(group_id=group, client_id="prober") as consumer:
        consumer.subscribe([topic])
        until("an assignment", lambda: len(consumer.assignment()) == 2)
        consumer.commit({session.partitions(topic, 1)[0]: session.library.place(7, "seven")})
        until("a stable group", lambda: session.library.stable(admin, group, 1))
        [response] = admin.describe_consumer_groups([group])
        [(code, _, state, kind, protocol, members, *_)] = response.groups
        results = {"described": [code, state, kind, protocol, [member[1] for member in members]]}
    offsets = {
        "all": sorted([p.partition, *place] for p, place in session.library.committed(admin, group).items()),
        "asked": sorted([p.partition, *place] for p, place in admin.list_consumer_group_offsets(
            group, partitions=session.partitions(topic, 2)).items()),
    }
    results["listed"] = [[session.own(name), kind] for name, kind, *_ in admin.list_consumer_groups()
                         if name.startswith(session.prefix)]
    return results, offsets


def cluster(admin):
    found = admin.describe_cluster()
    ids = {broker["node_id"] for broker in found["brokers"]}
    return {
        "nodes": len(ids), "distinct-addresses": len({(broker["host"], broker["port"]) for broker in found["brokers"]}),
        "controller-is-a-node": found["controller_id"] in ids, "has-id": bool(found["cluster_id"]),
    }
