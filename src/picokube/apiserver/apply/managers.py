"""Who owns which fields: managedFields as they are stored, and as they are worked with. Knows entries, their order and
their limit; knows no objects and no schemas.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson

from picokube.apiserver.apply.fieldset import EMPTY, FieldSet, MalformedFields, in_order, parsed, union
from picokube.apiserver.apply.go_text import quoted
from picokube.apiserver.apply.path_elements import json_text

APPLY, UPDATE = "Apply", "Update"
MAX_UPDATERS = 10
ANCIENT = "ancient-changes"


class MalformedManagers(Exception):
    """managedFields that cannot be read."""


class Identity(NamedTuple):
    """What makes two entries one. An applier is the same in every version; its version is left empty."""

    manager: str
    operation: str
    api_version: str
    subresource: str

    @classmethod
    def of(cls, manager: str, operation: str, api_version: str, subresource: str) -> "Identity":
        return cls(manager, operation, "" if operation == APPLY else api_version, subresource)

    def sort_text(self) -> str:
        """The text by which Kubernetes sorts managers."""
        names = ("manager", "operation", "apiVersion", "subresource")
        parts = [f'"{name}":{json_text(value)}' for name, value in zip(names, self, strict=True) if value]
        return f"{{{','.join(parts)}}}"

    def __str__(self) -> str:
        """As a conflict names it."""
        text = quoted(self.manager)
        if self.subresource:
            text = f"{text} with subresource {quoted(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """What one manager owns, seen in one version, since when. `stored` is the entry this was read from."""

    fields: FieldSet
    api_version: str
    time: str | None = None
    stored: dict[str, Any] | None = None
    in_order: bool = False
    """Whether the fields are known to stand as they are written: stored ones do, and what is left of them."""

    def owning(self, fields: FieldSet) -> "Owned":
        """The same manager with other fields."""
        return self if fields is self.fields else replace(self, fields=fields, stored=None)


Managers = dict[Identity, Owned]


def read(entries: Iterable[Any] | None, *, trusted: bool = False) -> Managers:
    """Managers from managedFields. `trusted` entries are our own and need no checks."""
    found: Managers = {}
    for index, entry in enumerate(entries or ()):
        if not trusted:
            _check(index, entry)
        version = entry["apiVersion"]
        identity = Identity.of(
            entry.get("manager") or "", entry["operation"], version, entry.get("subresource") or ""
        )
        fields = entry.get("fieldsV1") or EMPTY
        try:
            found[identity] = Owned(
                fields=fields if trusted else parsed(fields),
                api_version=version,
                time=entry.get("time") if trusted else _moment(entry.get("time")),
                stored=entry if trusted else None,
                in_order=trusted,
            )
        except MalformedFields as error:
            raise MalformedManagers(f"error decoding versioned set: {error}") from error
    return found


def _check(index: int, entry: Any) -> None:
    if not isinstance(entry, dict) or entry.get("operation") not in (APPLY, UPDATE):
        raise MalformedManagers("operation must be `Apply` or `Update`")
    if not entry.get("apiVersion"):
        raise MalformedManagers("apiVersion must not be empty")
    kind = entry.get("fieldsType")
    if not kind:
        raise MalformedManagers(f"missing fieldsType in managed fields entry {index}")
    if kind != "FieldsV1":
        raise MalformedManagers(f"invalid fieldsType {quoted(str(kind))} in managed fields entry {index}")


def _moment(time: Any) -> str | None:
    """A time as it is stored: UTC, whole seconds."""
    if not isinstance(time, str):
        return None
    if len(time) == len("2006-01-02T15:04:05Z") and time[-1] == "Z":
        return time
    try:
        return datetime.fromisoformat(time).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except ValueError as error:
        raise MalformedManagers(f"{time!r} is no time") from error


def written(managers: Managers) -> list[dict[str, Any]]:
    """The managedFields of managers: appliers first, then by age and name."""
    ordered = sorted(
        managers.items(),
        key=lambda item: (
            item[0].operation,
            item[1].time or "",
            item[0].manager,
            item[1].api_version,
            item[0].subresource,
        ),
    )
    return [owned.stored or _entry(identity, owned) for identity, owned in ordered]


def _entry(identity: Identity, owned: Owned) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if identity.manager:
        entry["manager"] = identity.manager
    entry["operation"] = identity.operation
    entry["apiVersion"] = owned.api_version
    if owned.time:
        entry["time"] = owned.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = owned.fields if owned.in_order else in_order(owned.fields)
    if identity.subresource:
        entry["subresource"] = identity.subresource
    return entry


def capped(managers: Managers) -> Managers:
    """At most ten updaters: the oldest of a version are thrown together."""
    updaters = [identity for identity in managers if identity.operation == UPDATE]
    surplus = len(updaters) - MAX_UPDATERS
    if surplus <= 0:
        return managers
    updaters.sort(key=lambda identity: (managers[identity].time or "", identity.sort_text()))
    kept = dict(managers)
    first: dict[str, Identity] = {}
    for identity in updaters:
        if surplus <= 0:
            break
        version = managers[identity].api_version
        if version not in first:
            first[version] = identity
            continue
        bucket = Identity.of(ANCIENT, UPDATE, version, "")
        if bucket not in kept:
            kept[bucket] = kept.pop(first[version])
        fields = union(managers[identity].fields, kept[bucket].fields)
        kept[bucket] = Owned(fields=fields, api_version=version, time=managers[identity].time)
        if identity != bucket:
            del kept[identity]
        surplus -= 1
    return kept


def copied(value: Any) -> Any:
    """A JSON value that shares nothing with another."""
    return orjson.loads(orjson.dumps(value))
