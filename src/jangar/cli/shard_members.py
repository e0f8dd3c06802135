"""Who shares the work of the controllers, as lines of a table and as a document for scripts."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from jangar.cli.output.spans import age
from jangar.operations.shard_members import SharedWork, moment

HEADS = ("Member", "Version", "Shards", "Holds", "Age", "State")
WIDE_HEADS = ("Set", "Member", "Version", "Host", "Shards", "Holds", "Age", "Renewed", "Last gain", "State")
ALIVE, SILENT = "alive", "silent"
NO_HOLDER = "(none)"


def rows(work: SharedWork, now: datetime, *, wide: bool) -> list[list[str]]:
    """A line for each member, and one for what nobody holds."""
    found = []
    for member in work.members:
        numbers = _numbers([one.number for one in member.holds])
        shards = f"{len(member.holds)}/{work.count}"
        old = age(moment(member.started_at), now)
        state = ALIVE if member.is_alive else SILENT
        if wide:
            gained = max((one.since for one in member.holds), default="")
            renewed = age(moment(member.renewed_at), now)
            place = f"{work.namespace}/{work.name}"
            last = age(moment(gained), now)
            row = [
                place,
                member.name,
                member.version,
                member.host,
                shards,
                numbers,
                old,
                renewed,
                last,
                state,
            ]
        else:
            row = [member.name, member.version, shards, numbers, old, state]
        found.append(row)
    if work.unheld:
        shards, numbers = f"{len(work.unheld)}/{work.count}", _numbers(work.unheld)
        place = f"{work.namespace}/{work.name}"
        found.append(
            [place, NO_HOLDER, "", "", shards, numbers, "", "", "", ""]
            if wide
            else [NO_HOLDER, "", shards, numbers, "", ""]
        )
    return found


def document(work: SharedWork) -> dict[str, Any]:
    """For scripts."""
    return {
        "name": work.name,
        "namespace": work.namespace,
        "shards": work.count,
        "unheld": list(work.unheld),
        "members": [
            {
                "name": member.name,
                "lease": member.lease,
                "version": member.version,
                "host": member.host,
                "startedAt": member.started_at,
                "renewedAt": member.renewed_at,
                "alive": member.is_alive,
                "holds": [{"shard": one.number, "since": one.since} for one in member.holds],
            }
            for member in work.members
        ],
    }


def _numbers(numbers: Iterable[int]) -> str:
    return ",".join(f"{number:02d}" for number in numbers)
