"""Events in both groups: two names of one object. The newer group requires more fields."""

from collections.abc import Iterable
from typing import Any, Final

from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    Problems,
    Rule,
    check,
    every,
    immutable,
    invalid,
    need,
    qualified_name,
    required,
)
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.printing import age
from picokube.schema import FieldError

_NEW_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_OLD_NAMES: Final = {new: old for old, new in _NEW_NAMES.items()}
_MAX_NOTE_LENGTH, _MAX_LENGTH = 1024, 128
_IMMUTABLE_FIELDS: Final = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reportingComponent",
    "reportingInstance", "action", "related", "type",
)  # fmt: skip


class Event(Kind):
    """An event of the core group."""

    def problems(self, obj: Json) -> Problems:
        yield from _namespace_problems(obj)
        if obj.get("eventTime"):
            yield from _new_style_problems(obj, "reportingComponent")

    def update_problems(self, obj: Json, old: Json) -> Iterable[FieldError]:
        return self.problems(obj) if not old.get("eventTime") else ()

    def converted(self, obj: Json) -> JsonObject:
        """An event of either group, as this one shows it."""
        return self._as_written(in_core(obj))

    def table_row(self, obj: JsonObject) -> list[Any]:
        """All cells: the name comes last."""
        return _cells(in_core(obj))


class EventsEvent(Event):
    """An event of events.k8s.io."""

    def problems(self, obj: Json) -> Problems:
        core = in_core(obj)
        yield from _namespace_problems(core)
        if not core.get("eventTime"):
            yield required("eventTime")
        else:
            yield from _new_style_problems(core, "reportingController")
        if core.get("type") not in ("Normal", "Warning"):
            yield invalid("type", "", f"has invalid value: {core.get('type', '')}")

    def converted(self, obj: Json) -> JsonObject:
        return self._as_written(in_new_group(obj))

    def update_problems(self, obj: Json, old: Json) -> Problems:
        new, before = in_core(obj), in_core(old)
        for name in _IMMUTABLE_FIELDS:
            yield from immutable(name, new.get(name, ""), before.get(name, ""))


def in_core(obj: Json) -> JsonObject:
    """The same event as the core group names its fields."""
    return {_OLD_NAMES.get(name, name): value for name, value in obj.items()}


def in_new_group(obj: Json) -> JsonObject:
    """The same event as events.k8s.io names its fields."""
    return {_NEW_NAMES.get(name, name): value for name, value in obj.items()}


def _namespace_problems(obj: Json) -> Problems:
    stated = (obj.get("involvedObject") or {}).get("namespace", "")
    own = obj["metadata"].get("namespace", "")
    if stated != own and (stated or own != "default"):
        yield invalid("involvedObject.namespace", stated, "does not match event.namespace")


def _max_length(most: int) -> Rule:
    def check_length(field: str, value: str | None) -> Problems:
        if len(value or "") > most:
            yield invalid(field, "", f"can have at most {most} characters")

    return check_length


_SHORT_TEXT: Final = need(_max_length(_MAX_LENGTH))


def _new_style_problems(obj: Json, reporter: str) -> Problems:
    """An event with a time has all fields of the newer API."""
    name = obj.get("reportingComponent", "")
    yield from every(need(), qualified_name)(reporter, name)
    rows = [(field, _SHORT_TEXT) for field in ("reportingInstance", "action", "reason")]
    yield from check("", obj, *rows, ("message", _max_length(_MAX_NOTE_LENGTH)))


def _cells(obj: Json) -> list[Any]:
    first = age(obj.get("firstTimestamp") or obj.get("eventTime"))
    last = age(obj["lastTimestamp"]) if obj.get("lastTimestamp") else first
    count = obj.get("count") or 1
    if series := obj.get("series"):
        last, count = age(series.get("lastObservedTime")), series.get("count", 0)
    about = obj.get("involvedObject") or {}
    kind = about.get("kind", "").lower()
    return [
        last,
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{kind}/{about['name']}" if about.get("name") else kind,
        about.get("fieldPath", ""),
        _source(obj),
        obj.get("message", "").strip(),
        first,
        count,
        obj["metadata"].get("name", ""),
    ]


def _source(obj: Json) -> str:
    source = obj.get("source") or {}
    component = source.get("component") or obj.get("reportingComponent") or ""
    host = source.get("host") or (obj.get("reportingInstance") or "" if not source.get("component") else "")
    return ", ".join(item for item in (component, host) if item)
