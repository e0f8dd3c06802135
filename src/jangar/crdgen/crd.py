"""A Kind as a CustomResourceDefinition. Knows apiextensions.k8s.io/v1; writes nothing."""

from collections.abc import Iterable
from typing import Final

from jangar.api.kind import CATEGORY, VERSION, Column, Kind
from jangar.api.kinds import KINDS
from jangar.api.meta import JsonObject
from jangar.crdgen.bounds import bounded
from jangar.crdgen.not_built import marked
from jangar.crdgen.structural import in_order, structural_schema

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


def root_schema(kind: Kind) -> JsonObject:
    """The schema of a whole object of `kind`."""
    root: JsonObject = {
        "description": kind.summary,
        "type": "object",
        "properties": {
            "apiVersion": {"description": _API_VERSION, "type": "string"},
            "kind": {"description": _KIND, "type": "string"},
            # The API server refuses anything more here, a description included.
            "metadata": {"type": "object"},
            "spec": in_order(marked(kind.name, bounded(structural_schema(kind.spec)))),
            "status": structural_schema(kind.status),
        },
    }
    if kind.spec_required:
        root["required"] = ["spec"]
    return root
