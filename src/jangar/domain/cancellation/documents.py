"""A cancel, a stop and what was left behind as the JSON of `status`, and back. The same for runs and children."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from jangar.api.meta import JsonObject
from jangar.domain.cancellation.machine import Cancel
from jangar.domain.cancellation.stop import LeftBehind, Stop
from jangar.domain.status_contract import time_from, time_to


def stop_document(stop: Stop) -> JsonObject:
    """As `status.stop`, and each step's."""
    return {
        "requestedAt": time_to(stop.requested_at),
        "reason": str(stop.reason),
        "deadline": time_to(stop.deadline),
        **({"message": stop.message} if stop.message else {}),
    }


def stop_from(document: Mapping[str, Any] | None) -> Stop | None:
    """Read back; None where nothing was announced."""
    if not document:
        return None
    requested_at = _moment(document, "requestedAt")
    return Stop(
        requested_at=requested_at,
        reason=document["reason"],
        deadline=time_from(document, "deadline") or requested_at,
        message=document.get("message") or "",
    )


def cancel_document(cancel: Cancel | None, left_behind: Sequence[LeftBehind]) -> JsonObject:
    """As `status.cancel`; empty where there is nothing to say."""
    asked = cancel and {
        "requestedAt": time_to(cancel.requested_at),
        "deadline": time_to(cancel.deadline),
        "requestedBy": list(cancel.requested_by),
    }
    left = [_left_document(item) for item in left_behind]
    return (asked or {}) | ({"leftBehind": left} if left else {})


def cancel_from(document: Mapping[str, Any]) -> Cancel | None:
    """Read back; None where no cancel was accepted."""
    if not document.get("requestedAt"):
        return None
    requested_at = _moment(document, "requestedAt")
    return Cancel(
        requested_at=requested_at,
        deadline=time_from(document, "deadline") or requested_at,
        requested_by=tuple(document.get("requestedBy") or ()),
    )


def left_behind_from(document: Mapping[str, Any]) -> tuple[LeftBehind, ...]:
    """What `status.cancel` lists."""
    return tuple(
        LeftBehind(
            kind=item["kind"], name=item["name"], uid=item.get("uid"), ended_at=time_from(item, "endedAt")
        )
        for item in document.get("leftBehind") or ()
    )


def _left_document(left: LeftBehind) -> JsonObject:
    document = {"kind": left.kind, "name": left.name, "uid": left.uid, "endedAt": time_to(left.ended_at)}
    return {name: value for name, value in document.items() if value is not None}


def _moment(document: Mapping[str, Any], field: str) -> datetime:
    moment = time_from(document, field)
    if moment is None:
        raise ValueError(f"{field}: is missing")
    return moment
