"""librdkafka, through its Python binding: runs one scenario and prints what it saw."""

import sys

import confluent_kafka

import admins
import connect
import groups
import idempotent
import load
import login
import produce
import program
import rules
import seek
import share
import stay
import transactions
from session import Session

SCENARIOS = {
    "version": lambda session: {
        "library": f"librdkafka {confluent_kafka.libversion()[0]}, confluent-kafka {confluent_kafka.__version__}"},
    "produce": produce.run,
    "seek": seek.run,
    "classic": groups.classic,
    "kip848": groups.kip848,
    "idempotent": idempotent.run,
    "transactions": transactions.run,
    "admin": admins.run,
    "share": share.run,
    "rules": rules.run,
    "login": login.run,
    "connect": connect.run,
    "stay": stay.run,
    "produce-load": load.produce,
    "drain": load.drain,
}

if __name__ == "__main__":
    program.run(sys.argv[1:], SCENARIOS, Session)
