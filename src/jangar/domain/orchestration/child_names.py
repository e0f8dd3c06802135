"""Names of the objects that a run owns, and the hash by which it recognizes a child.

A name is a function of run uid, step and attempt, so a second create collides (DAG-9). A name and an owner reference
prove nothing: any user who may create the kind can write both. The run records the hash before it creates the child,
and the child's uid once it exists; an object that has neither is not the run's.
"""

import json
import re
from base64 import b32encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from pydantic import ValidationError

from jangar.kinds.step_adapter import StepAdapter

MAX_LENGTH = 63
_HASH_BYTES = 10
_HASH_LENGTH = 16
_READABLE = MAX_LENGTH - _HASH_LENGTH - 1

_NOT_A_NAME = re.compile(r"[^a-z0-9]+")
_NOT_A_LABEL = re.compile(r"[^A-Za-z0-9._-]")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def child_name(run_name: str, run_uid: str, step: str, attempt: int) -> str:
    """Name of the child of one attempt of a step: a DNS-1123 label."""
    return _owned(run_name, step, str(attempt), _digest("child", run_uid, step, str(attempt)))


def job_name(
    child: str, child_uid: str, attempt: int, *, step: str | None = None, iteration: int | None = None
) -> str:
    """Name of the Job of one attempt of a child: a DNS-1123 label, valid for pods and labels."""
    if step is None:
        return _owned(child, "", str(attempt), _digest("job", child_uid, str(attempt)))
    counted = str(attempt) if iteration is None else f"{iteration}-{attempt}"
    return _owned(child, step, counted, _digest("step job", child_uid, step, counted))


def owned_name(run_name: str, run_uid: str, role: str, number: int | None = None) -> str:
    """Name of another object that a run owns, such as its snapshot or a page of steps."""
    counted = "" if number is None else str(number)
    return _owned(run_name, role, counted, _digest("owned", run_uid, role, counted))


def label_value(text: str) -> str:
    """The text as a label value: unchanged if it is valid, else its readable part and a hash."""
    if not text or _LABEL.fullmatch(text):
        return text
    readable = _NOT_A_LABEL.sub("-", text[:_READABLE]).strip("-_.")
    return f"{readable}-{_digest('label', text)}".lstrip("-")


def _owned(owner: str, role: str, counted: str, digest: str) -> str:
    """`owner-role-counted-digest`; both names share the remaining length."""
    owner, role = _slug(owner), _slug(role)
    room = _READABLE - len(counted) - 2
    half = room // 2
    owner_room = max(half, room - len(role))
    owner = owner[:owner_room].rstrip("-")
    role = role[: room - len(owner)].rstrip("-")
    return "-".join(part for part in (owner, role, counted, digest) if part)


def _slug(text: str) -> str:
    return _NOT_A_NAME.sub("-", text.lower()).strip("-")


def _digest(*parts: str) -> str:
    """80 bits in lower-case base32. Each part follows its length, so no two lists of parts read the same."""
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    whole = b"".join(b"%d:%b" % (len(part), part) for part in encoded)
    return b32encode(sha256(whole).digest()[:_HASH_BYTES]).decode().lower()


STEERING_FIELDS: Final = ("cancel", "desiredState", "suspend", "ttlSecondsAfterFinished")
"""Fields that may change while a child runs; they are not part of its identity."""


def child_hash(
    adapter: StepAdapter, spec: Mapping[str, Any], *, run_uid: str, step: str, attempt: str, lineage: str
) -> str | None:
    """sha256 of a child's identity; None for a spec that no step of the kind creates.

    The spec is read through its model, so defaults that an API server adds do not change the hash.
    """
    if adapter.child is None:
        return None
    try:
        model = adapter.child.spec.model_validate(spec)
    except ValidationError:
        return None
    fields = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    identity = {
        "kind": str(adapter.name),
        "runUid": run_uid,
        "step": step,
        "attempt": attempt,
        "lineage": lineage if adapter.called_orchestration is not None else "",
        "spec": _canonical({name: value for name, value in fields.items() if name not in STEERING_FIELDS}),
    }
    return sha256(json.dumps(identity, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _canonical(value: Any) -> Any:
    """The value with whole floats as integers: an API server stores 1.0 as 1."""
    match value:
        case Mapping():
            return {name: _canonical(item) for name, item in value.items()}
        case list():
            return [_canonical(item) for item in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value
