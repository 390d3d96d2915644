"""What a client library cannot do, shown by looking for it.

A probe never says so by itself: once the library has it, the scenario fails, and wants to be extended.
"""


def absent(thing, *names):
    """That `thing`, a module or a class, has none of these attributes."""
    present = [name for name in names if hasattr(thing, name)]
    if present:
        raise AssertionError(f"{thing.__name__} has {present} now: probe it")
    return {"lacks": f"{thing.__name__} has no {' or '.join(names)}"}


def refused(what, make, error):
    """That the library refuses a configuration, by an `error` of its own, before it asks a broker."""
    try:
        make()
    except error as refusal:
        return {"lacks": f"{what} is refused: {type(refusal).__name__}"}
    raise AssertionError(f"{what} is accepted now: probe it")
