"""A member of a group, on a thread of its own: what a family adds is how it consumes."""

import threading

from waiting import SECONDS


class Membership(threading.Thread):
    """What extends it has a `consume`, which is called until the member is to leave and keeps `held` what it holds."""

    def __init__(self, consumer, seen):
        """`seen` gets a pair for every record that some member has seen."""
        super().__init__(daemon=True)
        self.consumer = consumer
        self.seen = seen
        self.held = set()
        self.leaving = False
        self.failure = None

    def partitions(self):
        """What it holds now."""
        if self.failure:
            raise self.failure
        return set(self.held)

    def leave(self):
        """Leaves the group and returns when it has."""
        self.leaving = True
        self.join(SECONDS)
        if self.failure or self.is_alive():
            raise RuntimeError("a member did not leave") from self.failure

    def run(self):
        try:
            while not self.leaving:
                self.consume()
            # Leaving gives the partitions up, which commits.
            self.consumer.close()
        except Exception as failure:
            self.failure = failure
