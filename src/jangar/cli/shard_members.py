"""Who shares the work of the controllers, as lines of a table and as a document for scripts."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from jangar.cli.output.spans import age
from jangar.server.shard_members import SharedWork, moment

HEADS = ("Member", "Version", "Shards", "Holds", "Age", "State")
WIDE_HEADS = ("Set", "Member", "Version", "Host", "Shards", "Holds", "Age", "Renewed", "Last gain", "State")
ALIVE, SILENT = "alive", "silent"
NOBODY = "(nobody)"


def rows(work: SharedWork, now: datetime, *, wide: bool) -> list[list[str]]:
    """A line for each member, and one for what nobody holds."""
    found = []
    for each in work.members:
        numbers = _numbers([one.number for one in each.holds])
        shards = f"{len(each.holds)}/{work.count}"
        old = age(moment(each.started_at), now)
        state = ALIVE if each.is_alive else SILENT
        if wide:
            gained = max((one.since for one in each.holds), default="")
            renewed = age(moment(each.renewed_at), now)
            place = f"{work.namespace}/{work.name}"
            last = age(moment(gained), now)
            row = [place, each.name, each.version, each.host, shards, numbers, old, renewed, last, state]
        else:
            row = [each.name, each.version, shards, numbers, old, state]
        found.append(row)
    if work.unheld:
        shards, numbers = f"{len(work.unheld)}/{work.count}", _numbers(work.unheld)
        place = f"{work.namespace}/{work.name}"
        found.append(
            [place, NOBODY, "", "", shards, numbers, "", "", "", ""]
            if wide
            else [NOBODY, "", shards, numbers, "", ""]
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
                "name": each.name,
                "lease": each.lease,
                "version": each.version,
                "host": each.host,
                "startedAt": each.started_at,
                "renewedAt": each.renewed_at,
                "alive": each.is_alive,
                "holds": [{"shard": one.number, "since": one.since} for one in each.holds],
            }
            for each in work.members
        ],
    }


def _numbers(numbers: Iterable[int]) -> str:
    return ",".join(f"{number:02d}" for number in numbers)
