"""The CustomResourceDefinition of a kind: names, columns, and a schema with bounds and marks on what is not built.

The API server rejects strings, lists and maps beyond the bounds, so nothing larger reaches a controller. The bounds are
generous: an object has 1.5 MB at most, and what costs more than its size to evaluate has a bound of its own.
"""

from collections.abc import Iterable
from typing import Final

from jangar.api.kind import CATEGORY, VERSION, Column, Kind
from jangar.api.kinds import KINDS
from jangar.api.meta import JsonObject
from jangar.api.not_built import (
    MARK,
    STEP_FIELDS_NOT_BUILT,
    STEP_KINDS_NOT_BUILT,
    NotBuilt,
    rows_of,
)
from jangar.crdgen.structural import in_order, structural_schema

MAX_ITEMS: Final = 1_000
MAX_PROPERTIES: Final = 1_000
MAX_NAME: Final = 253
MAX_LINE: Final = 4_096
MAX_TEXT: Final = 262_144
MAX_QUANTITY: Final = 64

_ITEMS: Final = {"dependsOn": 10_000, "secrets": 200, "volumes": 200}
_NAMES: Final = frozenset(
    {
        "name", "namespace", "kind", "key", "channel", "serviceAccount", "serviceAccountName", "secretName",
        "claimName", "entrypoint", "policyRef", "deliveryId", "dependsOn", "secrets", "fromStep", "uid", "timezone",
        "apiVersion", "sizeLimit", "size", "medium", "mode", "cron", "idempotencyKey",
    }
)  # fmt: skip
_TEXTS: Final = frozenset(
    {
        "args", "argsTemplate", "bodyTemplate", "command", "content", "default", "description", "enum", "env",
        "envTemplate", "objectives", "parameters", "payload", "sourceDesign", "value", "with",
    }
)  # fmt: skip


def bounded(node: JsonObject, field: str = "") -> JsonObject:
    """The schema with a bound on everything that has none; `field` is the nearest field name around the node."""
    schema = dict(node)
    if "x-kubernetes-int-or-string" in node:
        schema.setdefault("maxLength", MAX_QUANTITY)
    match node.get("type"):
        case "string" if "enum" not in node and node.get("format") != "date-time":
            schema.setdefault("maxLength", _longest(field))
        case "array":
            schema.setdefault("maxItems", _ITEMS.get(field, MAX_ITEMS))
            schema["items"] = bounded(node["items"], field)
        case "object":
            if "additionalProperties" in node:
                schema["additionalProperties"] = bounded(node["additionalProperties"], field)
            if "additionalProperties" in node or "x-kubernetes-preserve-unknown-fields" in node:
                schema.setdefault("maxProperties", MAX_PROPERTIES)
            if "properties" in node:
                schema["properties"] = {
                    name: bounded(item, name) for name, item in node["properties"].items()
                }
    return schema


def _longest(field: str) -> int:
    return MAX_TEXT if field in _TEXTS else MAX_NAME if field in _NAMES else MAX_LINE


_STEPS: Final = {"Orchestration": ("steps",), "OrchestrationRun": ("orchestration", "steps")}


def marked(kind: str, spec: JsonObject) -> JsonObject:
    """The schema of a spec, marked in the description of every field that is not built."""
    for row in rows_of(kind):
        _mark(spec, row)
    if kind in _STEPS:
        step = spec
        for part in _STEPS[kind]:
            step = step["properties"][part]
        fields = step["items"]["properties"]
        for name in STEP_FIELDS_NOT_BUILT:
            fields[name]["description"] += f" {MARK}"
        fields["kind"]["description"] += f" Not built yet, refused: {', '.join(STEP_KINDS_NOT_BUILT)}."
    return spec


def _mark(spec: JsonObject, row: NotBuilt) -> None:
    node = spec
    for part in row.field.split("."):
        inner = (node.get("properties") or {}).get(part)
        if inner is None:
            break
        node = inner
    about = f"{row.field.rpartition('.')[2]}: {row.value} is not built yet: refused." if row.value else MARK
    node["description"] = f"{node.get('description', '')} {about}".strip()


# Argo CD must apply the definitions before the objects of the same sync.
SYNC_WAVE: Final = {"argocd.argoproj.io/sync-wave": "-10"}

_API_VERSION: Final = (
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert "
    "recognized schemas to the latest internal value, and may reject unrecognized values. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"
)
_KIND: Final = (
    "Kind is a string value representing the REST resource this object represents. Servers may infer this "
    "from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
)


def crds(kinds: Iterable[Kind] = KINDS) -> list[JsonObject]:
    """The definitions of all kinds, in the order of `kinds`."""
    return [crd_of(kind) for kind in kinds]


def crd_of(kind: Kind) -> JsonObject:
    """The CustomResourceDefinition of `kind`."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}", "annotations": dict(SYNC_WAVE)},
        "spec": {
            "group": kind.group,
            "names": _names(kind),
            "scope": "Namespaced",
            "versions": [_version(kind)],
        },
    }


def _names(kind: Kind) -> JsonObject:
    names = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.singular,
        "shortNames": list(kind.short_names),
        "categories": [CATEGORY],
    }
    return {name: value for name, value in names.items() if value}


def _version(kind: Kind) -> JsonObject:
    version: JsonObject = {"name": VERSION, "served": True, "storage": True, "subresources": {"status": {}}}
    if kind.columns:
        version["additionalPrinterColumns"] = [_column(column) for column in kind.columns]
    if kind.selectable:
        version["selectableFields"] = [{"jsonPath": path} for path in kind.selectable]
    version["schema"] = {"openAPIV3Schema": root_schema(kind)}
    return version


def _column(column: Column) -> JsonObject:
    written = {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.path,
        "description": column.description,
        "priority": column.priority,
    }
    # Kubernetes drops an empty description and priority 0 itself; so do we, or every diff would show them.
    return {key: value for key, value in written.items() if value}


def spec_schema(kind: Kind) -> JsonObject:
    """The schema of the spec of `kind`, with bounds and with marks on what is not built."""
    return marked(kind.name, bounded(structural_schema(kind.spec)))


def root_schema(kind: Kind) -> JsonObject:
    """The schema of a whole object of `kind`."""
    root: JsonObject = {
        "description": kind.summary,
        "type": "object",
        "properties": {
            "apiVersion": {"description": _API_VERSION, "type": "string"},
            "kind": {"description": _KIND, "type": "string"},
            # The API server accepts nothing else here, not even a description.
            "metadata": {"type": "object"},
            "spec": in_order(spec_schema(kind)),
            "status": structural_schema(kind.status),
        },
    }
    if kind.spec_required:
        root["required"] = ["spec"]
    return root
