"""Newer kinds of groups, which neither library has."""

from lacking import absent, refused


def kip848(session):
    library = session.library
    return {"kip848": refused(
        "group_protocol", lambda: session.new_consumer(group_protocol="consumer"), library.REFUSAL)}


def share(session):
    return {"share": absent(session.library.MODULE, "KafkaShareConsumer", "AIOKafkaShareConsumer"),
            "streams": absent(session.library.MODULE, "streams", "KafkaStreams")}
