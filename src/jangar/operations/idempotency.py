"""Creates an object at most once per idempotency key, which is unique within a namespace and kind.

The object's name follows from the key, so of two concurrent requests, from any process, one creates the object. With a
database the key is reserved there first and outlives the object; otherwise it lives as long as the object.
"""

import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol

import orjson

from jangar.operations.caller import Caller
from jangar.operations.refusals import ErrorKind, Refused
from jangar.store.errors import StoreError
from jangar.store.rows import KeyRow
from kubekit.client.api_client import Obj
from kubekit.client.errors import AlreadyExists, ApiError, NotFound, is_transient
from kubekit.client.resource import Resource

DELIVERY_ID: Final = "jangar.proompteng.ai/delivery-id"
"""Label of an object created with a key. A key that is no valid label value is replaced by its hash."""


class Created(NamedTuple):
    """An object, and whether an earlier request with the same key created it."""

    run: Obj
    is_repeat: bool = False


class KeyTable(Protocol):
    """Stores keys. Every call may raise StoreError."""

    async def reserve(self, wanted: KeyRow) -> KeyRow: ...

    async def settle(self, made: KeyRow) -> None: ...

    async def forget(self, unused: KeyRow) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStore:
    """The keys of one control plane."""

    keys: Callable[[], Awaitable[KeyTable]]
    past: Callable[[KeyRow], Awaitable[Obj | None]]
    """Returns the last form of a deleted object."""
    now: Callable[[], datetime]


def name_of_key(key: str) -> str:
    return f"run-{_hash(key.encode())[:20]}"


def label_of_key(key: str, *, fits: bool) -> str:
    return key if fits else _hash(key.encode())[:63]


async def create_once(caller: Caller, resource: Resource, wanted: Obj, *, key: str, field: str) -> Created:
    """Create the object whose spec has the key in `field`. Raises Refused if the key was used for another request."""
    store = caller.keys
    if store is None:
        return await _create(caller, resource, wanted, key, field)
    meta = wanted["metadata"]
    request = KeyRow(
        namespace=meta["namespace"],
        kind=resource.kind,
        key=key,
        digest=_hash(orjson.dumps(wanted["spec"], option=orjson.OPT_SORT_KEYS)),
        name=meta["name"],
        created_at=store.now(),
    )
    keys = await store.keys()
    row = await keys.reserve(request)
    if row.digest and row.digest != request.digest:
        raise _key_reused(key, row.name)
    if row.uid is not None and (obj := await _created_before(caller, resource, row, store)) is not None:
        if not row.digest and not _is_same_request(obj, wanted):
            raise _key_reused(key, row.name)
        return Created(obj, is_repeat=True)
    try:
        created = await _create(caller, resource, wanted, key, field)
    except ApiError as error:
        if not is_transient(error):
            with contextlib.suppress(StoreError):
                await keys.forget(request)
        raise
    # If this fails, the key is settled when the object ends.
    with contextlib.suppress(StoreError):
        own = created.run["metadata"]
        await keys.settle(replace(request, uid=own["uid"], name=own["name"]))
    return created


async def _created_before(caller: Caller, resource: Resource, row: KeyRow, store: KeyStore) -> Obj | None:
    with contextlib.suppress(NotFound):
        obj = await caller.client.get(resource, row.name, row.namespace)
        if obj["metadata"]["uid"] == row.uid:
            return obj
    past = await store.past(row)
    if past is None:
        raise Refused(
            f"the idempotency key {row.key!r} created {row.name}, which was deleted: use a new key",
            ErrorKind.CONFLICT,
        )
    return past


async def _create(caller: Caller, resource: Resource, wanted: Obj, key: str, field: str) -> Created:
    meta = wanted["metadata"]
    try:
        return Created(await caller.client.create(resource, wanted))
    except AlreadyExists:
        existing = await caller.client.get(resource, meta["name"], meta["namespace"])
    if (existing.get("spec") or {}).get(field) != key or not _is_same_request(existing, wanted):
        raise _key_reused(key, meta["name"])
    return Created(existing, is_repeat=True)


def _key_reused(key: str, name: str) -> Refused:
    return Refused(
        f"the idempotency key {key!r} was used for a different request, which created {name}: use a new key",
        ErrorKind.INVALID,
    )


def _is_same_request(existing: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Compares the fields that identify a request; the server may have added defaults to a definition."""
    old, new = existing.get("spec") or {}, wanted["spec"]
    names = ("orchestrationRef", "agentRef", "implementationSpecRef", "parameters")
    same = all((old.get(name) or None) == (new.get(name) or None) for name in names)
    return same and _task_text(old) == _task_text(new)


def _task_text(spec: Mapping[str, Any]) -> Any:
    """The text of an inline task."""
    return ((spec.get("implementation") or {}).get("inline") or {}).get("text")


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
