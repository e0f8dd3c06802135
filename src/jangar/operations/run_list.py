"""Which runs a list shows and in which order: newest first, page by page from a place, never by counting. Pure."""

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jangar.api.phases import Phase
from jangar.domain.times import parse_rfc3339, rfc3339

UID = re.compile(r"[-0-9A-Za-z]{1,64}")
Row = Mapping[str, Any]


class BadCursor(ValueError):
    """The text is no place in a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What a list lets through."""

    namespaces: frozenset[str] | None = None
    """None for all of them."""
    phases: frozenset[Phase] = frozenset()
    orchestration: str | None = None
    text: str = ""
    """Somewhere in the name, the orchestration, the reason or the message; case does not matter."""
    since: datetime | None = None
    nested: bool = False
    """Also runs that are a step of another."""

    def matches(self, row: Row) -> bool:
        return (
            (self.namespaces is None or row["namespace"] in self.namespaces)
            and (not self.phases or row["phase"] in self.phases)
            and (self.orchestration is None or row["orchestration"] == self.orchestration)
            and (self.nested or row["parent"] is None)
            and (self.since is None or datetime.fromisoformat(row["createdAt"]) >= self.since)
            and (not self.text or self._mentions(row))
        )

    def _mentions(self, row: Row) -> bool:
        text = self.text.casefold()
        fields = ("name", "orchestration", "reason", "message", "namespace")
        return any(text in str(row[field] or "").casefold() for field in fields)


def place(row: Row) -> tuple[str, str]:
    """Where a row stands; unique, for two runs may be created in one second."""
    return (str(row["createdAt"]), str(row["uid"]))


def page(
    rows: Iterable[Row], wanted: RunOptions, *, after: tuple[str, str] | None, limit: int
) -> tuple[list[Row], str | None]:
    """So many rows behind a place, and the cursor of the next page. `rows` come newest first."""
    found: list[Row] = []
    for row in rows:
        if after is not None and place(row) >= after:
            continue
        if wanted.matches(row):
            if len(found) == limit:
                return found, cursor(place(found[-1]))
            found.append(row)
    return found, None


def cursor(at: tuple[str, str]) -> str:
    return base64.urlsafe_b64encode("\n".join(at).encode()).decode().rstrip("=")


def place_of(text: str) -> tuple[str, str]:
    """Raises BadCursor."""
    try:
        created, uid = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().split("\n")
        created = rfc3339(parse_rfc3339(created))
    except (ValueError, binascii.Error, OverflowError) as error:
        raise BadCursor("invalid cursor: list again without a cursor") from error
    if UID.fullmatch(uid) is None:
        raise BadCursor("invalid cursor: list again without a cursor")
    return created, uid
