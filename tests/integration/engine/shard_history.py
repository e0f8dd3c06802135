"""Who held which shard when, and who wrote beside the holder: read from what went through the processes' proxies."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

from integration.engine.process_bed import ControllersProcess
from kubekit.leases.shard_records import shard_of

_STATUS = re.compile(
    r"PATCH .*/namespaces/(?P<namespace>[^/]+)/(orchestration|tool|agent)runs/(?P<name>[^/]+)/status$"
)
_SHARD = re.compile(r"-shard-(\d+)$")

Held = dict[int, list[tuple[float, str, str]]]
"""For each shard, in order: when, which process wrote the record, and the holder that it named."""


def history(processes: Sequence[ControllersProcess]) -> Held:
    """Every accepted record of every shard, in the order in which the server accepted them.

    A proxy notes a record when it reads the answer, which may be after another proxy noted the next record. So the
    order is that of the versions, and a record was accepted no later than the next one was noted.
    """
    found: dict[int, list[tuple[int, float, str, str]]] = defaultdict(list)
    for process in processes:
        for when, lease, holder, version in list(process.proxy.holders):
            if shard := _SHARD.search(lease):
                found[int(shard[1])].append((version, when, process.name, holder))
    return {shard: _accepted(sorted(records)) for shard, records in found.items()}


def _accepted(records: Sequence[tuple[int, float, str, str]]) -> list[tuple[float, str, str]]:
    latest = float("inf")
    accepted = []
    for _, when, name, holder in reversed(records):
        latest = min(latest, when)
        accepted.append((latest, name, holder))
    return accepted[::-1]


def beside_the_holder(processes: Sequence[ControllersProcess], *, shards: int) -> list[str]:
    """Statuses that the server took from a process when the last record of the object's shard was not its own."""
    held = history(processes)
    found = []
    for process in processes:
        for when, what in list(process.proxy.accepted):
            reported = _STATUS.match(what)
            if reported is None:
                continue
            shard = shard_of(reported["namespace"], reported["name"], shards)
            records = held.get(shard, [])
            before = records[: bisect_left(records, (when,), key=lambda record: record[:1])]
            if not before or before[-1][1] != process.name or not before[-1][2]:
                since = f"{when - before[-1][0]:.3f} s before by {before[-1][1:]}" if before else "never"
                found.append(f"{process.name} sent {what} while shard {shard} was last taken {since}")
    return found


def taken_over(held: Held, name: str, since: float) -> dict[int, float]:
    """Of the shards that the process held then, how many seconds later another had each."""
    found = {}
    for shard, records in held.items():
        before = [record for record in records if record[0] <= since]
        after = [record for record in records if record[0] > since and record[1] != name and record[2]]
        if before and before[-1][1] == name and before[-1][2] and after:
            found[shard] = after[0][0] - since
    return found


def holders_now(held: Held) -> dict[int, str]:
    """The process that wrote each shard's last record; nobody where it was given back."""
    return {shard: records[-1][1] if records[-1][2] else "" for shard, records in held.items()}
