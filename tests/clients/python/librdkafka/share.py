"""A share group: two members that share partitions. And what librdkafka makes of a Streams group."""

from confluent_kafka import KafkaException
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

import contents
import records
from lacking import refused
from waiting import SECONDS, until

PARTITIONS = 3
RECORDS = 90


def run(session):
    return {
        "share": together(session),
        "streams": refused("group.protocol=streams", lambda: session.consumer(group_protocol="streams"), KafkaException),
    }


def together(session):
    topic = session.topic("share", PARTITIONS)
    group = session.name("share")
    earliest = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=[earliest])
    admin = session.admin()
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(SECONDS)
    records.send(session.producer(), [
        (topic, n % PARTITIONS, {"value": f"v{n}".encode()}) for n in range(RECORDS)])
    members = [session.share_consumer(group_id=group) for _ in range(2)]
    for member in members:
        member.subscribe([topic])
    seen = []

    def look():
        for member in members:
            found = member.poll(timeout=0.2)
            seen.extend(contents.shown(message.value()) for message in found if not message.error())
            member.commit_sync()
        return len(seen) >= RECORDS

    until("all records", look)
    for member in members:
        member.close()
    return {"seen": len(seen), "distinct": len(set(seen))}
