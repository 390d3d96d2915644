"""kafka-python or aiokafka, as the first argument says: runs one scenario and prints what it saw."""

import importlib
import sys
from functools import partial

import connect
import groups
import idempotent
import newer
import produce
import program
import seek
import stay
import transactions
from session import Session

# The module with the library's clients, and the one with what its administrators can do.
LIBRARIES = {"kafka-python": ("sync", "sync_admin"), "aiokafka": ("aio", "aio_admin")}


def main(name, *arguments):
    library, admin = map(importlib.import_module, LIBRARIES[name])
    scenarios = {
        "version": lambda session: {"library": library.LIBRARY},
        "produce": produce.run,
        "seek": seek.run,
        "classic": groups.classic,
        "kip848": newer.kip848,
        "idempotent": idempotent.run,
        "transactions": transactions.run,
        "admin": admin.run,
        "share": newer.share,
        "login": connect.login,
        "connect": connect.run,
        "stay": stay.run,
    }
    program.run(list(arguments), scenarios, partial(Session, library))


if __name__ == "__main__":
    main(*sys.argv[1:])
