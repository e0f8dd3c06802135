"""Events, in both their groups: the older form may say little, the newer one must say all. Two names of one object."""

from typing import Any, Final

from picokube.apiserver.kinds.names import qualified_name_problems
from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import immutable, invalid, required
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.printing import age
from picokube.schema import FieldError

CORE_VERSION, EVENTS_VERSION = "v1", "events.k8s.io/v1"
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
_KEPT: Final = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reportingComponent",
    "reportingInstance", "action", "related", "type",
)  # fmt: skip


class Event(Kind):
    """An event of the core group."""

    def problems(self, obj: Json) -> list[FieldError]:
        return [
            *_place_problems(obj),
            *(_new_style_problems(obj, "reportingComponent") if obj.get("eventTime") else []),
        ]

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        return self.problems(obj) if not old.get("eventTime") else []

    def converted(self, obj: Json) -> JsonObject:
        """An event of either group, as this one shows it."""
        return self._as_written(in_core(obj))

    def table_row(self, obj: JsonObject) -> list[Any]:
        """All cells: the name comes last."""
        return _cells(in_core(obj))


class EventsEvent(Event):
    """An event of events.k8s.io."""

    def problems(self, obj: Json) -> list[FieldError]:
        core = in_core(obj)
        problems = _place_problems(core)
        if not core.get("eventTime"):
            problems.append(required("eventTime"))
        else:
            problems += _new_style_problems(core, "reportingController")
        if core.get("type") not in ("Normal", "Warning"):
            problems.append(invalid("type", "", f"has invalid value: {core.get('type', '')}"))
        return problems

    def converted(self, obj: Json) -> JsonObject:
        return self._as_written(in_new_group(obj))

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        new, before = in_core(obj), in_core(old)
        return [
            problem for name in _KEPT for problem in immutable(name, new.get(name, ""), before.get(name, ""))
        ]


def in_core(obj: Json) -> JsonObject:
    """The same event as the core group names its fields."""
    return {_OLD_NAMES.get(name, name): value for name, value in obj.items()}


def in_new_group(obj: Json) -> JsonObject:
    """The same event as events.k8s.io names its fields."""
    return {_NEW_NAMES.get(name, name): value for name, value in obj.items()}


def _place_problems(obj: Json) -> list[FieldError]:
    stated = (obj.get("involvedObject") or {}).get("namespace", "")
    own = obj["metadata"].get("namespace", "")
    if stated == own or (not stated and own == "default"):
        return []
    return [invalid("involvedObject.namespace", stated, "does not match event.namespace")]


def _new_style_problems(obj: Json, reporter: str) -> list[FieldError]:
    """What must be said when it is said when."""
    name, instance = obj.get("reportingComponent", ""), obj.get("reportingInstance", "")
    problems = [] if name else [required(reporter)]
    problems += [invalid(reporter, name, problem) for problem in qualified_name_problems(name)]
    if not instance:
        problems.append(required("reportingInstance"))
    elif len(instance) > _MAX_LENGTH:
        problems.append(invalid("reportingInstance", "", f"can have at most {_MAX_LENGTH} characters"))
    for field in ("action", "reason"):
        if not obj.get(field):
            problems.append(required(field))
        elif len(obj[field]) > _MAX_LENGTH:
            problems.append(invalid(field, "", f"can have at most {_MAX_LENGTH} characters"))
    if len(obj.get("message", "")) > _MAX_NOTE_LENGTH:
        problems.append(invalid("message", "", f"can have at most {_MAX_NOTE_LENGTH} characters"))
    return problems


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
