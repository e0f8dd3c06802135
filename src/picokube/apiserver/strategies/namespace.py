"""Namespaces: named by a label, held by a finalizer of their own, in one of two phases."""

from typing import Any, Final

from picokube.apiserver.names import finalizer_problems
from picokube.apiserver.strategies.checks import Json, JsonObject, invalid
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.printing import created
from picokube.schema import FieldError

NAME_LABEL: Final = "kubernetes.io/metadata.name"


class Namespace(Kind):
    """A namespace."""

    def default(self, obj: JsonObject) -> None:
        meta = obj["metadata"]
        if meta.get("name"):
            meta["labels"] = (meta.get("labels") or {}) | {NAME_LABEL: meta["name"]}
        if not obj.setdefault("status", {}).get("phase"):
            obj["status"]["phase"] = "Active"

    def reset(self, obj: JsonObject) -> None:
        obj["status"] = {"phase": "Active"}
        finalizers = obj["spec"].setdefault("finalizers", [])
        if "kubernetes" not in finalizers:
            finalizers.append("kubernetes")

    def reset_update(self, obj: JsonObject, old: Json, subresource: str) -> None:
        if subresource == "finalize":
            self._put_back(obj, old, "status")
        elif subresource == "":
            self._put_back(obj, old, "spec")

    def problems(self, obj: Json) -> list[FieldError]:
        return [
            invalid("spec.finalizers", finalizer, problem)
            for finalizer in obj["spec"].get("finalizers") or ()
            for problem in finalizer_problems(finalizer)
        ]

    def status_problems(self, obj: Json, old: Json) -> list[FieldError]:
        del old
        phase, is_leaving = obj["status"].get("phase"), bool(obj["metadata"].get("deletionTimestamp"))
        wanted = "Terminating" if is_leaving else "Active"
        if phase == wanted:
            return []
        why = "is not empty" if is_leaving else "is empty"
        return [invalid("status.Phase", phase, f"may only be '{wanted}' if `deletionTimestamp` {why}")]

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [(obj.get("status") or {}).get("phase", ""), created(obj)]
