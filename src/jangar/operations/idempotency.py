"""What is made with an idempotency key is made once: unique within namespace and kind, for as long as history is kept.

The name follows from the key, so that of two that come at once, from whatever process, one is made. Where there is a
database the key is reserved in it first and outlives the object; else it lives as long as the object does.
"""

import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import orjson

from jangar.operations.refusals import Refused, Why
from jangar.store.errors import StoreError
from jangar.store.rows import KeyRow
from kubekit.client.api_client import Obj
from kubekit.client.errors import AlreadyExists, ApiError, NotFound, is_transient
from kubekit.client.resource import Resource

if TYPE_CHECKING:
    from kubekit.client.api_client import Client

DELIVERY_ID: Final = "jangar.proompteng.ai/delivery-id"
"""Label of what was made with a key; longer keys than a label holds stand as their hash."""


class Made(NamedTuple):
    """An object, and whether an earlier order with the same key had made it."""

    run: Obj
    is_repeat: bool = False


class Keys(Protocol):
    """Where keys outlive what they made. Every call may raise StoreError."""

    async def reserve(self, wanted: KeyRow) -> KeyRow: ...

    async def settle(self, made: KeyRow) -> None: ...

    async def forget(self, unused: KeyRow) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRing:
    """The keys of one control plane."""

    keys: Callable[[], Awaitable[Keys]]
    past: Callable[[KeyRow], Awaitable[Obj | None]]
    """The last form of an object that is gone."""
    now: Callable[[], datetime]


def named_by(key: str) -> str:
    return f"run-{_hash(key.encode())[:20]}"


def label_of(key: str, *, fits: bool) -> str:
    return key if fits else _hash(key.encode())[:63]


async def make_once(
    client: "Client", resource: Resource, wanted: Obj, *, key: str, field: str, ring: KeyRing | None
) -> Made:
    """`field` of its spec holds the key. Raises Refused if the key was used for something else."""
    if ring is None:
        return await _made(client, resource, wanted, key, field)
    meta = wanted["metadata"]
    asked = KeyRow(
        namespace=meta["namespace"],
        kind=resource.kind,
        key=key,
        digest=_hash(orjson.dumps(wanted["spec"], option=orjson.OPT_SORT_KEYS)),
        name=meta["name"],
        created_at=ring.now(),
    )
    keys = await ring.keys()
    row = await keys.reserve(asked)
    if row.digest and row.digest != asked.digest:
        raise _used(key, row.name)
    if row.uid is not None and (there := await _there(client, resource, row, ring)) is not None:
        if not row.digest and not _is_same(there, wanted):
            raise _used(key, row.name)
        return Made(there, is_repeat=True)
    try:
        made = await _made(client, resource, wanted, key, field)
    except ApiError as error:
        if not is_transient(error):
            with contextlib.suppress(StoreError):
                await keys.forget(asked)
        raise
    # If this fails, the end of what was made settles it.
    with contextlib.suppress(StoreError):
        own = made.run["metadata"]
        await keys.settle(replace(asked, uid=own["uid"], name=own["name"]))
    return made


async def _there(client: "Client", resource: Resource, row: KeyRow, ring: KeyRing) -> Obj | None:
    with contextlib.suppress(NotFound):
        found = await client.get(resource, row.name, row.namespace)
        if found["metadata"]["uid"] == row.uid:
            return found
    past = await ring.past(row)
    if past is None:
        raise Refused(
            f"the idempotency key {row.key!r} created {row.name}, which was deleted: use a new key",
            Why.STATE,
        )
    return past


async def _made(client: "Client", resource: Resource, wanted: Obj, key: str, field: str) -> Made:
    meta = wanted["metadata"]
    try:
        return Made(await client.create(resource, wanted))
    except AlreadyExists:
        there = await client.get(resource, meta["name"], meta["namespace"])
    if (there.get("spec") or {}).get(field) != key or not _is_same(there, wanted):
        raise _used(key, meta["name"])
    return Made(there, is_repeat=True)


def _used(key: str, name: str) -> Refused:
    return Refused(
        f"the idempotency key {key!r} was used for a different request, which created {name}: use a new key",
        Why.WRONG,
    )


def _is_same(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether it asks for what this order asks for; the server may have added defaults to a definition."""
    had, asked = there.get("spec") or {}, wanted["spec"]
    names = ("orchestrationRef", "agentRef", "implementationSpecRef", "parameters")
    same = all((had.get(name) or None) == (asked.get(name) or None) for name in names)
    return same and _task(had) == _task(asked)


def _task(spec: Mapping[str, Any]) -> Any:
    """The words of a task that is given in place."""
    return ((spec.get("implementation") or {}).get("inline") or {}).get("text")


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
