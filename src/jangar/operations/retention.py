"""When ended runs will be deleted, and which run decides about a nested one (GC-4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from jangar.operations.caller import Caller
from jangar.operations.live_runs import LiveRuns
from jangar.operations.run_reading import RUNS, owner_of
from kubekit.client.api_client import Obj
from kubekit.client.errors import NotFound

MAX_DEPTH: Final = 100
"""Levels of nesting that are followed; the rules allow far fewer."""
MAX_LISTED: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRetention:
    """Runs with a deletion time, and the runs that contain them."""

    runs: "list[Obj]"
    by_uid: "Mapping[str, Obj]"

    def root_of(self, run: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The outermost run; None if a run in between was deleted."""
        current = run
        for _ in range(MAX_DEPTH):
            owner = owner_of(current, RUNS.kind)
            if owner is None:
                return current
            if owner["uid"] not in self.by_uid:
                return None
            current = self.by_uid[owner["uid"]]
        return None


async def get_retention(caller: Caller, namespace: str | None, run: str = "") -> RunRetention:
    """One run, or all ended runs of a namespace."""
    if run:
        obj = await caller.client.get(RUNS, run, namespace)
        runs, known = [obj], [obj, *await _ancestors(caller, obj)]
    else:
        known = await caller.client.list(RUNS, namespace)
        runs = [item for item in known if (item.get("status") or {}).get("retention")]
    return RunRetention(runs=runs, by_uid={item["metadata"]["uid"]: item for item in known})


async def _ancestors(caller: Caller, obj: Obj) -> "list[Obj]":
    """The runs that contain a nested run, up to the root, without deleted ones."""
    ancestors: list[Obj] = []
    owner = owner_of(obj, RUNS.kind)
    while owner is not None and len(ancestors) < MAX_DEPTH:
        try:
            ancestors.append(await caller.client.get(RUNS, owner["name"], obj["metadata"]["namespace"]))
        except NotFound:
            break
        owner = owner_of(ancestors[-1], RUNS.kind)
    return ancestors


def retention_rows(live: LiveRuns, namespaces: frozenset[str] | None) -> list[dict[str, Any]]:
    """Cached runs with a deletion time, the first to be deleted first."""
    rows = []
    for row in live.rows():
        if namespaces is not None and row["namespace"] not in namespaces:
            continue
        obj = live.object(str(row["namespace"]), str(row["name"])) or {}
        retention = (obj.get("status") or {}).get("retention")
        if retention:
            rows.append({**{key: row[key] for key in ("namespace", "name", "phase")}, "retention": retention})
    rows.sort(key=lambda item: str(item["retention"].get("runExpiresAt") or "9"))
    return rows[:MAX_LISTED]
