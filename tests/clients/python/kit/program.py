"""The command line of every Python client program, and its line of JSON.

Usage: PROGRAM SCENARIO --bootstrap HOST:PORT --prefix P [--property k=v]... [--OPTION VALUE]...

Nothing in the line depends on the run: names come without the prefix, and no address, id or clock is in it.
"""

import json
import os
import sys
import traceback


class Arguments:
    """What a run was called with."""

    def __init__(self, arguments):
        self.options = {}
        self.properties = {}
        for name, value in zip(arguments[::2], arguments[1::2]):
            if name == "--property":
                key, _, value = value.partition("=")
                self.properties[key] = value
            else:
                self.options[name.removeprefix("--")] = value
        self.prefix = self.options["prefix"]
        self.bootstrap = self.options["bootstrap"]

    def name(self, own):
        """The name of a topic, group or transactional id of this run."""
        return self.prefix + own

    def own(self, name):
        """A name without the prefix of this run."""
        return name.replace(self.prefix, "")


def run(arguments, scenarios, session):
    """Runs the scenario that the first argument names, with a `session` made of the others; ends the process."""
    code = outcome(arguments, scenarios, session)
    sys.stdout.flush()
    sys.stderr.flush()
    # Ends at once: a client thread that hangs must not keep the program.
    os._exit(code)


def outcome(arguments, scenarios, session):
    scenario = scenarios.get(arguments[0]) if arguments else None
    if scenario is None:
        print(f"the first argument has to be one of {sorted(scenarios)}", file=sys.stderr)
        return 2
    try:
        result = scenario(session(arguments[1:]))
    except Exception:
        traceback.print_exc()
        return 1
    print(json.dumps(result, sort_keys=True, ensure_ascii=False))
    return 0
