"""Runs one scenario against a cluster, or against a proxy in front of one, and prints what it saw as a line of JSON.

Usage: probe.py SCENARIO --bootstrap HOST:PORT --prefix P [--property k=v]... [--OPTION VALUE]...

Nothing in the line depends on the run: names come without the prefix, and no address, id or clock is in it.
"""

import json
import os
import sys
import traceback

import admins
import groups
import idempotent
import load
import login
import produce
import seek
import share
import transactions
from session import Session

SCENARIOS = {
    "produce": produce.run,
    "seek": seek.run,
    "classic": groups.classic,
    "kip848": groups.kip848,
    "idempotent": idempotent.run,
    "transactions": transactions.run,
    "admin": admins.run,
    "share": share.run,
    "login": login.run,
    "produce-load": load.produce,
    "drain": load.drain,
}


def main(arguments):
    scenario = SCENARIOS.get(arguments[0]) if arguments else None
    if scenario is None:
        print(f"the first argument has to be one of {sorted(SCENARIOS)}", file=sys.stderr)
        return 2
    try:
        result = scenario(Session(arguments[1:]))
    except Exception:
        traceback.print_exc()
        return 1
    print(json.dumps(result, sort_keys=True, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Ends at once: a client thread that hangs must not keep the program.
    os._exit(code)
