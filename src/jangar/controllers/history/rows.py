"""The rows that history stores of an object that has ended, with its log tail and definition."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jangar.api.phases import TERMINAL
from jangar.controllers.log_tails import LogTails
from jangar.controllers.orchestrationrun.definitions import recorded_snapshot, snapshot_in
from jangar.controllers.orchestrationrun.record import read_steps
from jangar.controllers.resources import ATTEMPT, CREATED_BY, STEP
from jangar.kinds.registry import RUN_KINDS
from jangar.store.history import History
from jangar.store.rows import Ended, Known, RunRow, StepRow, StoredObject
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client
from kubekit.client.builtin import CONFIG_MAPS
from kubekit.client.errors import NotFound
from kubekit.times import parse_rfc3339


def end_written_at(cached: Cached) -> str | None:
    """When the terminal status of the object was written; None if it has not ended."""
    status = cached.view.get("status") or {}
    if status.get("phase") not in TERMINAL:
        return None
    return status.get("updatedAt") or status.get("finishedAt") or cached.creation_timestamp


def ended(
    kind: str,
    cached: Cached,
    *,
    root_uid: str,
    steps: Sequence[Mapping[str, Any]] | None = None,
    log_tail: str | None = None,
    definition: bytes | None = None,
) -> Ended:
    """The rows of an ended object. `steps` are all steps if the status lists only some; `definition` is what it ran."""
    spec, status = cached.view.get("spec") or {}, cached.view.get("status") or {}
    created = parse_rfc3339(cached.creation_timestamp)
    updated = _time(status, "updatedAt") or _time(status, "finishedAt") or created
    owner, outcome = cached.controller, status.get("outcome")
    attempt = cached.labels.get(ATTEMPT, "")
    progress = _progress(status)
    return Ended(
        run=RunRow(
            uid=cached.uid,
            kind=kind,
            namespace=cached.namespace,
            name=cached.name,
            version=cached.revision,
            phase=status["phase"],
            created_at=created,
            started_at=_time(status, "startedAt"),
            finished_at=_time(status, "finishedAt") or updated,
            updated_at=updated,
            root_uid=root_uid,
            owner_uid=owner.uid if owner is not None else None,
            step=cached.labels.get(STEP),
            attempt=int(attempt) if attempt.isdecimal() else None,
            definition=RUN_KINDS[kind].definition_name(spec),
            reason=status.get("reason"),
            message=status.get("message"),
            exit_code=(outcome or {}).get("exitCode"),
            outcome=outcome,
            outputs=status.get("outputs"),
            spec=spec,
            log_location=_log_location(status),
            owner_name=owner.name if owner is not None else None,
            retry_of=(spec.get("retryOf") or {}).get("name"),
            created_by=cached.annotations.get(CREATED_BY),
            cancel_requested=bool(spec.get("cancel")) or spec.get("desiredState") == "Cancelled",
            steps_ended=progress[0],
            steps_total=progress[1],
            counts=status.get("counts"),
        ),
        steps=tuple(
            _step(position, item)
            for position, item in enumerate(steps if steps is not None else status.get("stepStatuses") or ())
        ),
        log_tail=log_tail,
        whole=StoredObject(obj=_whole(cached, steps), definition=definition),
        key=spec.get("deliveryId") or spec.get("idempotencyKey"),
    )


def _progress(status: Mapping[str, Any]) -> tuple[int | None, int | None]:
    ended_steps, _, total = str(status.get("steps") or "").partition("/")
    return (int(ended_steps), int(total)) if ended_steps.isdecimal() and total.isdecimal() else (None, None)


def _whole(cached: Cached, steps: Sequence[Mapping[str, Any]] | None) -> Mapping[str, Any]:
    """The object with all steps inline: step pages are deleted with the run."""
    if steps is None:
        return cached.view
    status = {name: value for name, value in cached.view["status"].items() if name != "stepPages"}
    return {**cached.view, "status": {**status, "stepStatuses": list(steps)}}


def _log_location(status: Mapping[str, Any]) -> str | None:
    name = (status.get("job") or {}).get("name")
    return f"job/{name}" if name else None


def _step(position: int, document: Mapping[str, Any]) -> StepRow:
    child = document.get("resourceRef") or {}
    return StepRow(
        position=position,
        name=document["name"],
        kind=document["kind"],
        phase=document["phase"],
        reason=document.get("reason"),
        message=document.get("message"),
        attempt=document.get("attempt"),
        child_name=child.get("name"),
        child_uid=child.get("uid"),
        started_at=_time(document, "startedAt"),
        finished_at=_time(document, "finishedAt"),
        outputs=document.get("outputs"),
    )


def _time(document: Mapping[str, Any], field: str) -> datetime | None:
    return parse_rfc3339(document[field]) if document.get(field) else None


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads the rows of ended objects, with what is stored outside of the objects."""

    client: Client
    logs: LogTails | None
    root_uid: Callable[[Cached], str]

    async def read(self, kind: str, cached: Cached, history: History) -> Ended:
        """The rows of an object; `history` has log tails that other processes stored."""
        steps = await read_steps(self.client, cached, cached.view.get("status") or {})
        tail = await self._tail(cached, history) if self._has_tail(cached) else None
        return ended(
            kind,
            cached,
            root_uid=self.root_uid(cached),
            steps=steps or None,
            log_tail=tail,
            definition=await self._definition(cached),
        )

    def is_complete(self, row: Known, cached: Cached) -> bool:
        """Whether a stored row has everything that is known of the object."""
        written_at = end_written_at(cached)
        is_current = written_at is not None and row.updated_at >= parse_rfc3339(written_at)
        return is_current and (row.has_log_tail or not self._has_tail(cached))

    def _has_tail(self, cached: Cached) -> bool:
        """Whether the log tail of the last Job is there: a row is stored once, with the tail that it then has."""
        if self.logs is None:
            return False
        files, status = self.logs.files, cached.view.get("status") or {}
        if files.has(cached.namespace, cached.uid, (status.get("job") or {}).get("name")):
            return True
        has_no_last_log = (status.get("outcome") or {}).get("exitCode") is None
        return has_no_last_log and files.has_any(cached.namespace, cached.uid)

    async def _tail(self, cached: Cached, history: History) -> str | None:
        """The log tails of this process, after those that other processes stored for the same object."""
        if self.logs is None:
            return None
        own_tail = await self.logs.read(cached.namespace, cached.uid)
        own_jobs = {part.job for part in await self.logs.parts(cached.namespace, cached.uid)}
        if not own_jobs or own_tail is None:
            return own_tail
        earlier = [part.text for part in await history.log_parts(cached.uid) if part.job not in own_jobs]
        return "".join([*earlier, own_tail])

    async def _definition(self, cached: Cached) -> bytes | None:
        """The definition that a run executed, from its snapshot."""
        reference = (cached.view.get("status") or {}).get("snapshotRef") or {}
        if not reference.get("name"):
            return None
        try:
            obj = await self.client.get(CONFIG_MAPS, reference["name"], cached.namespace)
        except NotFound:
            return None
        return snapshot_in(obj) if recorded_snapshot(obj, cached.uid, reference) is not None else None
