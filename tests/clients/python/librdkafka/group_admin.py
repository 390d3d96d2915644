"""Groups and their offsets: listed, described, altered, deleted; while a member is there and after."""

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

import groups
from session import outcome
from waiting import SECONDS, until


def run(session, admin):
    topic = session.topic("grouped", 2)
    results = {protocol: with_member(session, admin, topic, protocol) for protocol in ["classic", "consumer"]}
    offsets = alter(session, admin, topic)
    results["listed"] = {
        session.own(group.group_id): [group.state.name, group.type.name]
        for group in admin.list_consumer_groups().result(SECONDS).valid if group.group_id.startswith(session.prefix)}
    results["absent"] = outcome(admin.describe_consumer_groups([session.name("absent")])[session.name("absent")])
    results["delete"] = {
        own: outcome(admin.delete_consumer_groups([session.name(own)])[session.name(own)])
        for own in ["group-classic", "group-consumer", "altered", "absent"]}
    return {"groups": results, "offsets": offsets}


def with_member(session, admin, topic, protocol):
    group = session.name(f"group-{protocol}")
    consumer = session.consumer(group_id=group, group_protocol=protocol, client_id="prober")
    consumer.subscribe([topic])

    def assigned():
        consumer.poll(0.1)
        return len(consumer.assignment()) == 2

    until("an assignment", assigned)
    consumer.commit(offsets=[TopicPartition(topic, 0, 0, "zero")], asynchronous=False)
    described = groups.describe(admin, group)
    results = {
        "state": described.state.name, "type": described.type.name, "assignor": described.partition_assignor,
        "members": [
            [m.client_id, m.group_instance_id,
             sorted([session.own(p.topic), p.partition] for p in m.assignment.topic_partitions)]
            for m in described.members],
        "delete-in-use": outcome(admin.delete_consumer_groups([group])[group]),
    }
    consumer.close()
    return results


def alter(session, admin, topic):
    """Offsets of a group that nobody is in."""
    group = session.name("altered")
    wanted = [TopicPartition(topic, 0, 3), TopicPartition(topic, 1, 4)]
    [future] = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, wanted)]).values()
    altered = future.result(SECONDS)
    return {
        "errors": [str(p.error) for p in altered.topic_partitions],
        "committed": groups.committed(admin, group),
    }
