"""The holders of each shard over time and writes by other processes, from the traffic of the processes' proxies."""

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
"""For each shard in order: time, writing process, and holder."""


def history(processes: Sequence[ControllersProcess]) -> Held:
    """Every accepted record of every shard, in the order of the server.

    A proxy notes a record when it reads the response, possibly after another proxy noted the next record. So the
    order is that of the versions, and a record was accepted no later than the next one was noted.
    """
    noted: dict[int, list[tuple[int, float, str, str]]] = defaultdict(list)
    for process in processes:
        for when, lease, holder, version in list(process.proxy.holders):
            if shard := _SHARD.search(lease):
                noted[int(shard[1])].append((version, when, process.name, holder))
    return {shard: _accepted(sorted(records)) for shard, records in noted.items()}


def _accepted(records: Sequence[tuple[int, float, str, str]]) -> list[tuple[float, str, str]]:
    latest = float("inf")
    accepted = []
    for _, when, name, holder in reversed(records):
        latest = min(latest, when)
        accepted.append((latest, name, holder))
    return accepted[::-1]


def writes_without_shard(processes: Sequence[ControllersProcess], *, shards: int) -> list[str]:
    """Accepted status writes of a process when the last record of the object's shard named another holder."""
    held = history(processes)
    writes = []
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
                writes.append(f"{process.name} sent {what} while shard {shard} was last taken {since}")
    return writes


def taken_over(held: Held, name: str, since: float) -> dict[int, float]:
    """For each shard that the process held: the seconds until another process held it."""
    writes = {}
    for shard, records in held.items():
        before = [record for record in records if record[0] <= since]
        after = [record for record in records if record[0] > since and record[1] != name and record[2]]
        if before and before[-1][1] == name and before[-1][2] and after:
            writes[shard] = after[0][0] - since
    return writes


def holders_now(held: Held) -> dict[int, str]:
    """The process that wrote each shard's last record; None if the shard was released."""
    return {shard: records[-1][1] if records[-1][2] else "" for shard, records in held.items()}
