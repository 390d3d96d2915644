"""Groups that are tried again.

kafka-python 3.0.12 loses a rebalance now and then, most of all while polls are short: the leader of a group joins, never
gets to its SyncGroup, and stays without partitions. It does so without a proxy too, so such a try says nothing.
"""

# Seconds after which a try is given up.
PATIENCE = 20
TRIES = 5


def patiently(own, attempt):
    """The first result of `attempt` that does not end in a wait; each gets a name of its own."""
    for number in range(TRIES):
        try:
            return attempt(f"{own}{number}")
        except TimeoutError as failure:
            last = failure
    raise last
