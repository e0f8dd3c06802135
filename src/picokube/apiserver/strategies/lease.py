"""Leases."""

from typing import Any

from picokube.apiserver.strategies.checks import Json, JsonObject, invalid, non_negative
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.printing import created
from picokube.schema import FieldError


class Lease(Kind):
    """A lease. Coordinated election is an alpha feature and switched off: what speaks of it is dropped."""

    def reset(self, obj: JsonObject) -> None:
        for name in ("strategy", "preferredHolder"):
            obj["spec"].pop(name, None)

    def reset_update(self, obj: JsonObject, old: Json, subresource: str) -> None:
        del old, subresource
        self.reset(obj)

    def problems(self, obj: Json) -> list[FieldError]:
        spec = obj["spec"]
        seconds = spec.get("leaseDurationSeconds")
        problems: list[FieldError] = []
        if seconds is not None and seconds <= 0:
            problems.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
        return [*problems, *non_negative("spec.leaseTransitions", spec.get("leaseTransitions"))]

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [(obj.get("spec") or {}).get("holderIdentity", ""), created(obj)]
