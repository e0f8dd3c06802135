"""How a database refuses: for now, for good, or because it is not ours."""


class StoreError(Exception):
    """What a database did not do; the message says why."""


class Unavailable(StoreError):
    """It cannot be reached or is busy: the same again, later, may succeed. Whether a write arrived is not known."""


class NoSpace(Unavailable):
    """Its disk is full. Less may fit."""


class Refused(StoreError):
    """It will not take this, now or later."""


class NotHistory(StoreError):
    """There is no history in it, or one of a newer version."""
