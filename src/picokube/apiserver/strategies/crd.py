"""CustomResourceDefinitions: completed and checked as kube-apiserver does. Their names are given later."""

from typing import Any

from picokube.apiserver.strategies.checks import Json, JsonObject, immutable
from picokube.apiserver.strategies.crd_conditions import ESTABLISHED, is_true
from picokube.apiserver.strategies.crd_spec import crd_problems, stored_version_problems
from picokube.apiserver.strategies.crd_warnings import format_warnings
from picokube.apiserver.strategies.kind import Kind
from picokube.schema import FieldError


class CustomResourceDefinition(Kind):
    """A definition. What becomes of it once it is stored: definition_life.py."""

    def default(self, obj: JsonObject) -> None:
        spec, names = obj["spec"], obj["spec"]["names"]
        if names.get("kind"):
            names.setdefault("singular", names["kind"].lower())
            names.setdefault("listKind", f"{names['kind']}List")
        spec.setdefault("conversion", {"strategy": "None"})
        client = (spec["conversion"].get("webhook") or {}).get("clientConfig") or {}
        if client.get("service") is not None:
            client["service"].setdefault("port", 443)
        if not obj["status"].get("storedVersions"):
            obj["status"]["storedVersions"] = _storage_versions(spec)[:1]

    def reset(self, obj: JsonObject) -> None:
        obj["status"] = {"storedVersions": _storage_versions(obj["spec"])[:1]}

    def reset_update(self, obj: JsonObject, old: Json, subresource: str) -> None:
        del old
        if subresource == "status":
            return
        stored = obj["status"].get("storedVersions") or []
        added = [name for name in _storage_versions(obj["spec"])[:1] if name not in stored]
        obj["status"]["storedVersions"] = [*stored, *added]

    def problems(self, obj: Json) -> list[FieldError]:
        return crd_problems(obj, None)

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        spec, before = obj["spec"], old["spec"]
        problems = crd_problems(obj, old)
        kept: list[FieldError] = []
        if is_true(old, ESTABLISHED):
            kept += immutable("spec.scope", spec.get("scope"), before.get("scope"))
            kept += immutable("spec.names.kind", spec["names"].get("kind"), before["names"].get("kind"))
        kept += [
            *immutable("spec.group", spec.get("group"), before.get("group")),
            *immutable("spec.names.plural", spec["names"].get("plural"), before["names"].get("plural")),
        ]
        return [*problems, *kept, *stored_version_problems(obj)]

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        return format_warnings(obj, old)

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [obj["metadata"].get("creationTimestamp", "")]


def _storage_versions(spec: Json) -> list[str]:
    return [version.get("name", "") for version in spec.get("versions") or () if version.get("storage")]
