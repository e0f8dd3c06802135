"""Deleted runs in the history: as rows of a list, completely, and with their events and the ends of their logs."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from jangar.api.orchestration import ORCHESTRATION_RUN
from jangar.api.phases import TERMINAL
from jangar.controllers.resources import CREATED_BY
from jangar.operations.run_list import Row, RowKey, RunFilter
from jangar.operations.run_reading import RUNS, ReadRun, read_past, step_data
from jangar.store.errors import StoreError
from jangar.store.history import History
from jangar.store.rows import EventRow, KeyRow, Line, Listing, Place, Query, RunRow, StepRow, StoredObject
from kubekit.client.api_client import Obj
from kubekit.times import parse_rfc3339, rfc3339

KIND: Final = ORCHESTRATION_RUN.name
NAMESPACES_TTL: Final = 30.0
"""Seconds for which the list of namespaces is cached."""


class PastRuns:
    """Opens the history on first use. Every method may raise StoreError."""

    def __init__(self, opened: Callable[[], Awaitable[History]]) -> None:
        self._open = opened
        self._history: History | None = None
        self._opening = asyncio.Lock()
        self._namespaces: tuple[float, frozenset[str]] = (float("-inf"), frozenset())

    async def history(self) -> History:
        async with self._opening:
            if self._history is None:
                self._history = await self._open()
        return self._history

    async def listed(self, wanted: RunFilter, *, after: RowKey | None, limit: int) -> Sequence[Row]:
        """Rows of a list, newest first."""
        phases = sorted(str(phase) for phase in wanted.phases if phase in TERMINAL)
        if wanted.phases and not phases:
            return ()
        listing = Listing(
            kind=KIND,
            namespaces=tuple(sorted(wanted.namespaces)) if wanted.namespaces is not None else None,
            phases=tuple(phases),
            definition=wanted.orchestration,
            text=wanted.text,
            created_after=wanted.since,
            roots_only=not wanted.nested,
            after=Place(created_at=parse_rfc3339(after[0]), uid=after[1]) if after else None,
            limit=limit,
        )
        return [_list_item(line) for line in await (await self.history()).listed(listing)]

    async def namespaces(self) -> frozenset[str]:
        """Namespaces that have runs; the last known ones while the database is unreachable."""
        at, known = self._namespaces
        if time.monotonic() - at > NAMESPACES_TTL:
            try:
                known = frozenset(await (await self.history()).namespaces(KIND))
            except StoreError:
                return known
            self._namespaces = (time.monotonic(), known)
        return known

    async def read(self, namespace: str, *, name: str, uid: str | None = None) -> ReadRun | None:
        """One complete run by its uid, or the last one of its name."""
        history = await self.history()
        row = await (history.run(uid) if uid else self._last(history, namespace, name, KIND))
        if row is None or (row.kind, row.namespace, row.name) != (KIND, namespace, name):
            return None
        whole = await history.whole(row.uid)
        if whole is None:
            return read_past(_rebuilt(row, await history.steps(row.uid)), None)
        obj = {"apiVersion": RUNS.api_version, "kind": RUNS.kind, **whole.obj}
        return read_past(obj, whole.definition)

    async def object(self, namespace: str, kind: str, wanted: str) -> Obj | None:
        """The last form of an object by its uid or name, if the whole object was stored."""
        history = await self.history()
        row = await history.run(wanted) or await self._last(history, namespace, wanted, kind)
        if row is None or (row.kind, row.namespace) != (kind, namespace):
            return None
        whole = await history.whole(row.uid)
        return {"kind": kind, **whole.obj} if whole is not None else None

    async def created_with(self, row: KeyRow) -> Obj | None:
        """The object that was created with an idempotency key."""
        return await self.object(row.namespace, row.kind, row.uid) if row.uid else None

    async def child_uid(self, namespace: str, name: str, kind: str) -> str | None:
        row = await self._last(await self.history(), namespace, name, kind)
        return row.uid if row is not None else None

    async def log_tail(self, uid: str) -> str | None:
        return await (await self.history()).log_tail(uid)

    async def events(self, uid: str, limit: int) -> list[EventRow]:
        return await (await self.history()).events(uid, limit)

    async def is_reachable(self) -> bool:
        try:
            await (await self.history()).known(())
        except StoreError:
            return False
        return True

    async def close(self) -> None:
        if self._history is not None:
            await self._history.close()

    async def _last(self, history: History, namespace: str, name: str, kind: str) -> RunRow | None:
        found = await history.page(
            Query(namespace=namespace, kinds=(kind,), name=name, roots_only=False, limit=1)
        )
        return found[0] if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """One run, AgentRun or ToolRun with everything that the history stores of it."""

    row: RunRow
    steps: Sequence[StepRow] = ()
    log_tail: str | None = None
    step_tails: Mapping[str, str | None] = field(default_factory=dict)
    """By uid of the child."""
    inputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By name of the step."""


async def get_stored_run(history: History, namespace: str | None, name: str) -> StoredRun | None:
    """The run with this uid, or the last one of this name."""
    row = await history.run(name)
    if row is None:
        rows = await history.page(Query(namespace=namespace, name=name, roots_only=False, limit=1))
        row = rows[0] if rows else None
    if row is None:
        return None
    steps = await history.steps(row.uid)
    tails = {step.child_uid: await history.log_tail(step.child_uid) for step in steps if step.child_uid}
    return StoredRun(
        row=row,
        steps=steps,
        log_tail=await history.log_tail(row.uid),
        step_tails=tails,
        inputs=_stored_inputs(row, await history.whole(row.uid)) if steps else {},
    )


def _stored_inputs(row: RunRow, whole: StoredObject | None) -> dict[str, Mapping[str, str]]:
    """Inputs by step; empty for runs that were stored before definitions were."""
    if whole is None or whole.definition is None or row.kind != RUNS.kind:
        return {}
    read = read_past({"apiVersion": RUNS.api_version, "kind": RUNS.kind, **whole.obj}, whole.definition)
    return {item.step: item.inputs for item in step_data(read)}


def _list_item(line: Line) -> Row:
    return {
        "namespace": line.namespace,
        "name": line.name,
        "uid": line.uid,
        "orchestration": line.definition,
        "phase": line.phase,
        "reason": line.reason or "",
        "message": line.message or "",
        "stepsEnded": line.steps_ended or 0,
        "stepsTotal": line.steps_total or 0,
        "counts": dict(line.counts or {}),
        "createdAt": rfc3339(line.created_at),
        "createdBy": line.created_by,
        "startedAt": rfc3339(line.started_at) if line.started_at else None,
        "finishedAt": rfc3339(line.finished_at),
        "suspended": False,
        "cancelRequested": bool(line.cancel_requested),
        "parent": line.owner_name,
        "retryOf": line.retry_of,
        "expiresAt": None,
        "live": False,
    }


def _rebuilt(row: RunRow, steps: Sequence[StepRow]) -> Obj:
    """The object of a run from its row, for runs that were stored before whole objects were."""
    status: Mapping[str, Any] = {
        "phase": row.phase,
        "reason": row.reason,
        "message": row.message,
        "startedAt": rfc3339(row.started_at) if row.started_at else None,
        "finishedAt": rfc3339(row.finished_at),
        "updatedAt": rfc3339(row.updated_at),
        "steps": f"{row.steps_ended or 0}/{row.steps_total or 0}",
        "counts": row.counts,
        "outputs": row.outputs,
        "stepStatuses": [_step(step) for step in steps],
    }
    return {
        "apiVersion": RUNS.api_version,
        "kind": RUNS.kind,
        "metadata": {
            "namespace": row.namespace,
            "name": row.name,
            "uid": row.uid,
            "resourceVersion": str(row.version),
            "creationTimestamp": rfc3339(row.created_at),
            **({"annotations": {CREATED_BY: row.created_by}} if row.created_by else {}),
        },
        "spec": dict(row.spec),
        "status": {name: value for name, value in status.items() if value is not None},
    }


def _step(step: StepRow) -> dict[str, Any]:
    state: dict[str, Any] = {
        "name": step.name,
        "kind": step.kind,
        "phase": step.phase,
        "reason": step.reason,
        "message": step.message,
        "attempt": step.attempt,
        "startedAt": rfc3339(step.started_at) if step.started_at else None,
        "finishedAt": rfc3339(step.finished_at) if step.finished_at else None,
        "outputs": step.outputs,
    }
    if step.child_name:
        state["resourceRef"] = {"kind": step.kind, "name": step.child_name, "uid": step.child_uid}
    return {name: value for name, value in state.items() if value is not None}
