"""Waiting with a limit."""

import time

SECONDS = 60


def until(what, look, seconds=SECONDS):
    """Looks again and again until `look` gives something true, and returns it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.001)
    raise TimeoutError(f"{what}: not within {seconds} s")
