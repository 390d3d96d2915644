"""The story of a group: two members, then three, then two again, with records in every stage."""

from waiting import SECONDS, until

PARTITIONS = 6
BATCH = 60


def tell(fill, join, look, seconds=SECONDS):
    """Runs it and returns what `look` saw in each stage, and how many records were seen, and seen twice.

    `fill(start)` writes `BATCH` records, evenly over the partitions. `join(seen)` gives a new member, which puts a pair
    into `seen` for every record, with `partitions()` and `leave()`. `look(members, share)` is asked until it gives a
    description of a stable group of so many members with so many partitions each. No wait takes longer than `seconds`.
    """
    seen = []
    stages = []
    members = []

    def stage():
        settle(members, seconds)
        fill(len(stages) * BATCH)
        wanted = (len(stages) + 1) * BATCH
        until("all records", lambda: len(set(seen)) >= wanted, seconds)
        share = PARTITIONS // len(members)
        stages.append(until("a stable group", lambda: look(len(members), share), seconds))

    def enter():
        members.append(join(seen))
        settle(members, seconds)

    enter()
    enter()
    stage()
    enter()
    stage()
    members.pop(1).leave()
    stage()
    for member in members:
        member.leave()
    return {"stages": stages, "seen": len(seen), "twice": len(seen) - len(set(seen))}


def settle(members, seconds):
    """Waits until the members share all partitions evenly."""
    share = PARTITIONS // len(members)
    until("an even assignment", lambda: all(len(member.partitions()) == share for member in members)
          and len(set().union(*(member.partitions() for member in members))) == PARTITIONS,
          seconds)
