"""What administrators do, with kafka-python."""

import contents
import records
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, OffsetSpec
from lacking import absent
from patience import PATIENCE, patiently
from session import error, settled
from waiting import until


def run(session):
    with session.admin() as admin:
        results = {
            "topics": topics(session, admin),
            "configs": configs(session, admin),
            "partitions": partitions(session, admin),
            "delete-records": delete_records(session, admin),
            "log-dirs": log_dirs(session, admin),
            "reassignments": reassignments(session, admin),
            "quotas": absent(KafkaAdminClient, "describe_client_quotas", "alter_client_quotas"),
            "features": features(admin),
            "cluster": cluster(admin),
        }
        with session.producer(transactional_id=session.name("open"), acks="all") as producer:
            producer.begin()
            records.send(producer, session.name("partitions"), 1, [{"value": b"open"}])
            results["producers"] = producers(session, admin)
            results["list-transactions"] = listed_transactions(session, admin)
            producer.abort()
        results["groups"], results["offsets"] = patiently("group", lambda group: groups(session, admin, group))
    return results


def features(admin):
    return {name: [found["supported"], found.get("finalized")] for name, found in admin.describe_features().items()}


def topics(session, admin):
    name = session.name("plain")
    wanted = {name: {"num_partitions": 3}}
    results = {
        "dry": admin.create_topics(wanted, validate_only=True)["topics"][0]["num_partitions"],
        "made": admin.create_topics(wanted)["topics"][0]["num_partitions"],
        "again": error(lambda: admin.create_topics(wanted)),
        "bad-name": error(lambda: admin.create_topics({session.name("not/a*name"): {}})),
        "many-replicas": error(lambda: admin.create_topics({session.name("many"): {"replication_factor": 30}})),
    }

    def described():
        [topic] = admin.describe_topics([name])
        leaders = [partition["leader_id"] >= 0 for partition in topic["partitions"]]
        replicas = [len(partition["replica_nodes"]) for partition in topic["partitions"]]
        return leaders == [True] * 3 and [session.own(topic["name"]), topic["is_internal"], replicas]

    results["described"] = settled("the topic", described)
    results["extend"] = [
        error(lambda: admin.create_partitions({name: count})) for count in [2, 5]]
    until("five partitions", lambda: session.library.leaders(admin, name) == [True] * 5)
    results["listed"] = until("the topic in the list", lambda: [
        session.own(found) for found in admin.list_topics() if found.startswith(session.prefix)])
    results["delete"] = error(lambda: admin.delete_topics([name]))
    until("its end", lambda: name not in admin.list_topics())
    return results


def configs(session, admin):
    name = session.topic("configured", 1, cleanup_policy="compact")

    def entries():
        found = admin.describe_configs([ConfigResource("TOPIC", name)], config_filter="all")
        return {key: entry["value"] for key, entry in found["topic"][name].items()}

    def alter(key, change):
        return str(admin.alter_configs([ConfigResource("TOPIC", name, {key: change})]).get("topic", {}).get(name))

    results = {
        "before": settled("the configurations", entries),
        "set": alter("retention.ms", "12345678"),
        "append": alter("cleanup.policy", ("APPEND", "delete")),
        "wrong": error(lambda: alter("retention.ms", "many")),
    }

    def changed():
        found = entries()
        return found["cleanup.policy"] == "compact,delete" and found

    return results | {"after": settled("the changes", changed)}


def partitions(session, admin):
    """Offsets by administrators, and elections."""
    topic = session.topic("partitions", 2)
    with session.producer(acks="all") as producer:
        records.send(producer, topic, 1, [{"value": b"v"}])
        records.send(producer, topic, 0, [
            {"value": f"v{number}".encode(), "timestamp": contents.TIME + (50_000 if number == 6 else 1000 * number)}
            for number in range(10)])
    first, second = session.partitions(topic, 2)
    specs = {"earliest": OffsetSpec.EARLIEST, "latest": OffsetSpec.LATEST, "max-timestamp": OffsetSpec.MAX_TIMESTAMP,
             "time": contents.TIME + 2_500}
    results = {}
    for own, spec in specs.items():
        found = admin.list_partition_offsets({first: spec})[first]
        results[own] = [found.offset, found.timestamp]
    elected = admin.elect_leaders(0, {topic: [0, 1]}, raise_errors=False).to_dict()
    return results | {"elect": sorted(
        [found["partition_id"], found["error_code"]]
        for one in elected["replica_election_results"] for found in one["partition_result"])}


def delete_records(session, admin):
    topic = session.name("partitions")
    [first] = session.partitions(topic, 1)
    return {
        "before-4": admin.delete_records({first: 4})[first]["low_watermark"],
        "before-400": error(lambda: admin.delete_records({first: 400})),
        "left": len(records.every(session, topic, 1)),
    }


def log_dirs(session, admin):
    name = session.name("partitions")
    found = admin.describe_log_dirs([name])
    return {
        "brokers": len(found),
        "replicas": sorted([session.own(topic["name"]), partition["partition_index"], partition["is_future_key"]]
                           for broker in found for directory in broker["log_dirs"] for topic in directory["topics"]
                           for partition in topic["partitions"]),
    }


def reassignments(session, admin):
    topic = session.name("partitions")
    [first] = session.partitions(topic, 1)
    [described] = admin.describe_topics([topic])
    [now] = [found["replica_nodes"] for found in described["partitions"] if found["partition_index"] == 0]

    def alter(replicas):
        outcome = admin.alter_partition_reassignments({first: replicas})[first]
        return outcome and outcome.__name__

    results = {"to-the-same": alter(now), "to-nobody": alter([999_983]), "cancel": alter(None)}
    return results | {"ongoing": len(admin.list_partition_reassignments([first]))}


def producers(session, admin):
    found = admin.describe_producers(session.partitions(session.name("partitions"), 2))
    return {str(partition.partition): sorted(
        [state.producer_id >= 0, state.last_sequence, state.current_transaction_start_offset]
        for state in states.active_producers) for partition, states in found.items()}


def listed_transactions(session, admin):
    name = session.name("open")
    [listed] = [found for broker in admin.list_transactions().values() for found in broker
                if found.transactional_id == name]
    described = admin.describe_transactions([name])[name]
    return {
        "listed": str(listed.state), "described": str(described.state),
        "same-producer": listed.producer_id == described.producer_id,
        "partitions": sorted([session.own(p.topic), p.partition] for p in described.topic_partitions),
    }


def groups(session, admin, own):
    """A group and its offsets; while a member is there and after."""
    group = session.name(own)
    topic = session.name("partitions")
    first, second = session.partitions(topic, 2)
    place = session.library.place

    def altered(offsets):
        return [outcome.__name__ for outcome in admin.alter_group_offsets(group, offsets).values()]

    with session.consumer(group_id=group, client_id="prober") as consumer:
        consumer.subscribe([topic])
        until("an assignment", lambda: assigned(consumer), PATIENCE)
        described = until("a stable group", lambda: session.library.stable(admin, group, 1))
        members = admin.describe_groups([group])[group]["members"]
        results = {
            "described": [*described, [member["client_id"] for member in members]],
            "delete-in-use": str(admin.delete_groups([group])[group]),
        }
        offsets = {"alter-in-use": altered({first: place(1)})}
    offsets["alter"] = altered({first: place(3, "three"), second: place(4)})
    offsets["altered"] = sorted(
        [partition.partition, *found] for partition, found in session.library.committed(admin, group).items())
    offsets["delete"] = [outcome.__name__ for outcome in admin.delete_group_offsets(group, [first]).values()]
    offsets["deleted"] = [partition.partition for partition in session.library.committed(admin, group)]
    results["listed"] = [
        [found["group_state"], found["group_type"]] for found in admin.list_groups() if found["group_id"] == group]
    results["delete"] = str(admin.delete_groups([group])[group])
    results["delete-absent"] = str(admin.delete_groups([session.name("absent")])[session.name("absent")])
    return results, offsets


def assigned(consumer):
    consumer.poll()
    return len(consumer.assignment()) == 2


def cluster(admin):
    found = admin.describe_cluster()
    ids = {broker["broker_id"] for broker in found["brokers"]}
    return {
        "nodes": len(ids), "distinct-addresses": len({(broker["host"], broker["port"]) for broker in found["brokers"]}),
        "controller-is-a-node": found["controller_id"] in ids, "has-id": bool(found["cluster_id"]),
    }
