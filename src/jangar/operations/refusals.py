"""Rejected requests, shared by the command line, the HTTP API and the web UI."""

from collections.abc import Mapping, Sequence
from enum import Enum


class Why(Enum):
    """What kind of mistake a refusal is about."""

    STATE = "state"
    """The run is not in a state that allows it."""
    MISSING = "missing"
    """Something that was named is not there."""
    WRONG = "wrong"
    """What was sent makes no sense."""


class Refused(Exception):
    """A request was rejected; the message says why and what to do."""

    def __init__(
        self,
        message: str,
        why: Why,
        *,
        problems: Sequence[str] = (),
        fields: Mapping[str, str] | None = None,
    ) -> None:
        """`fields` holds, by the path of a field in the request (`parameters.region`), what is wrong with it."""
        super().__init__(message)
        self.why = why
        self.problems = tuple(problems)
        self.fields = dict(fields or {})
