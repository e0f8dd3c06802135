"""Errors of the history database: temporary, permanent, or not a history database."""


class StoreError(Exception):
    """A database operation failed; the message says why."""


class Unavailable(StoreError):
    """The database cannot be reached or is busy. A retry may succeed; a write may have taken effect."""


class NoSpace(Unavailable):
    """The disk of the database is full. A smaller write may fit."""


class Refused(StoreError):
    """The database rejects the data; a retry cannot succeed."""


class NotHistory(StoreError):
    """The database has no history, or one of a newer version."""
