"""One question to the cluster: does it let us in?"""

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from waiting import SECONDS, until


def run(session):
    errors = []
    admin = AdminClient(session.properties | {"error_cb": errors.append})
    question = admin.describe_cluster(request_timeout=SECONDS)

    def answer():
        admin.poll(0.05)
        # With a certificate alone, what refuses it is the end of the connection.
        names = [error.name() for error in errors]
        refused = [name for name in names if name == "_AUTHENTICATION" or not session.properties.get("sasl.mechanism")]
        return refused[0] if refused else "no error" if question.done() else None

    outcome = until("an answer", answer)
    if outcome == "no error" and question.exception():
        raise KafkaException(question.exception())
    return {"login": outcome}
