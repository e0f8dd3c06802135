"""Priority classes."""

from typing import Any, Final

from picokube.apiserver.strategies.checks import Json, JsonObject, forbidden, immutable, one_of
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.printing import created
from picokube.schema import FieldError

_HIGHEST: Final = 1_000_000_000
_SYSTEM: Final = ("system-cluster-critical", "system-node-critical")
_POLICIES: Final = ("PreemptLowerPriority", "Never")


class PriorityClass(Kind):
    """A priority that pods may name."""

    def default(self, obj: JsonObject) -> None:
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def reset(self, obj: JsonObject) -> None:
        # It has a generation, and keeps it: nothing of it is ever observed.
        obj["metadata"]["generation"] = 1

    def problems(self, obj: Json) -> list[FieldError]:
        name = obj["metadata"].get("name", "")
        problems: list[FieldError] = []
        if name.startswith("system-"):
            if name not in _SYSTEM:
                detail = (
                    "priority class names with 'system-' prefix are reserved for system use only. error: "
                    f"{name} is not a known system priority class"
                )
                problems.append(forbidden("metadata.name", detail))
        elif obj.get("value", 0) > _HIGHEST:
            detail = f"maximum allowed value of a user defined priority is {_HIGHEST}"
            problems.append(forbidden("value", detail))
        return [*problems, *one_of("preemptionPolicy", obj.get("preemptionPolicy"), _POLICIES)]

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        problems = []
        if obj.get("value", 0) != old.get("value", 0):
            problems.append(forbidden("value", "may not be changed in an update."))
        return [
            *problems,
            *immutable("preemptionPolicy", obj.get("preemptionPolicy"), old.get("preemptionPolicy")),
        ]

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [
            obj.get("value", 0),
            bool(obj.get("globalDefault")),
            created(obj),
            obj.get("preemptionPolicy", "PreemptLowerPriority"),
        ]
