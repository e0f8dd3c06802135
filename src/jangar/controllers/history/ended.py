"""From an object that has ended to what history holds of it. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from jangar.api.phases import TERMINAL
from jangar.controllers.resources import ATTEMPT, CREATED_BY, STEP
from jangar.domain.times import parse_rfc3339
from jangar.kinds.registry import RUN_KINDS
from jangar.store.rows import Ended, RunRow, StepRow, StoredObject
from kubekit.cache.object_cache import Cached


def written_at(seen: Cached) -> str | None:
    """When the end that this version tells of was written; None while there is none."""
    status = seen.view.get("status") or {}
    if status.get("phase") not in TERMINAL:
        return None
    return status.get("updatedAt") or status.get("finishedAt") or seen.creation_timestamp


def ended(
    kind: str,
    seen: Cached,
    *,
    root_uid: str,
    steps: Sequence[Mapping[str, Any]] | None = None,
    log_tail: str | None = None,
    definition: bytes | None = None,
) -> Ended:
    """`steps` are those of a big run, whose status has not all of them; `definition` is what a run executed."""
    spec, status = seen.view.get("spec") or {}, seen.view.get("status") or {}
    created = parse_rfc3339(seen.creation_timestamp)
    updated = _time(status, "updatedAt") or _time(status, "finishedAt") or created
    owner, outcome = seen.controller, status.get("outcome")
    attempt = seen.labels.get(ATTEMPT, "")
    progress = _progress(status)
    return Ended(
        run=RunRow(
            uid=seen.uid,
            kind=kind,
            namespace=seen.namespace,
            name=seen.name,
            version=seen.revision,
            phase=status["phase"],
            created_at=created,
            started_at=_time(status, "startedAt"),
            finished_at=_time(status, "finishedAt") or updated,
            updated_at=updated,
            root_uid=root_uid,
            owner_uid=owner.uid if owner is not None else None,
            step=seen.labels.get(STEP),
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
            created_by=seen.annotations.get(CREATED_BY),
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
        whole=StoredObject(obj=_whole(seen, steps), definition=definition),
        key=spec.get("deliveryId") or spec.get("idempotencyKey"),
    )


def _progress(status: Mapping[str, Any]) -> tuple[int | None, int | None]:
    ended_steps, _, total = str(status.get("steps") or "").partition("/")
    return (int(ended_steps), int(total)) if ended_steps.isdecimal() and total.isdecimal() else (None, None)


def _whole(seen: Cached, steps: Sequence[Mapping[str, Any]] | None) -> Mapping[str, Any]:
    """The object with its steps inside, as a run of few steps has them: their pages go with the run."""
    if steps is None:
        return seen.view
    status = {name: value for name, value in seen.view["status"].items() if name != "stepPages"}
    return {**seen.view, "status": {**status, "stepStatuses": list(steps)}}


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
