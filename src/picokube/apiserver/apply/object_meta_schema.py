"""The schema of ObjectMeta, which every kind shares, as far as merging reads it. A custom resource's own schema for
metadata only restricts names; this is what its metadata is.
"""

from collections.abc import Mapping
from typing import Any, Final

_STRING: Final = {"type": "string"}
_STRINGS: Final = {"type": "object", "additionalProperties": {"type": "string", "default": ""}}
_TIME: Final = {"type": "string", "format": "date-time"}
_INTEGER: Final = {"type": "integer", "format": "int64"}

TYPE_META_PROPERTIES: Final[dict[str, Any]] = {"apiVersion": _STRING, "kind": _STRING}

_OWNER_REFERENCE: Final = {
    "type": "object",
    "required": ["apiVersion", "kind", "name", "uid"],
    "x-kubernetes-map-type": "atomic",
    "properties": {
        "apiVersion": {"type": "string", "default": ""},
        "blockOwnerDeletion": {"type": "boolean"},
        "controller": {"type": "boolean"},
        "kind": {"type": "string", "default": ""},
        "name": {"type": "string", "default": ""},
        "uid": {"type": "string", "default": ""},
    },
}

_MANAGED_FIELDS_ENTRY: Final = {
    "type": "object",
    "properties": {
        "apiVersion": _STRING,
        "fieldsType": _STRING,
        "fieldsV1": {"type": "object"},
        "manager": _STRING,
        "operation": _STRING,
        "subresource": _STRING,
        "time": _TIME,
    },
}

OBJECT_META_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "annotations": _STRINGS,
        "creationTimestamp": _TIME,
        "deletionGracePeriodSeconds": _INTEGER,
        "deletionTimestamp": _TIME,
        "finalizers": {
            "type": "array",
            "items": {"type": "string", "default": ""},
            "x-kubernetes-list-type": "set",
            "x-kubernetes-patch-strategy": "merge",
        },
        "generateName": _STRING,
        "generation": _INTEGER,
        "labels": _STRINGS,
        "managedFields": {
            "type": "array",
            "items": _MANAGED_FIELDS_ENTRY,
            "x-kubernetes-list-type": "atomic",
        },
        "name": _STRING,
        "namespace": _STRING,
        "ownerReferences": {
            "type": "array",
            "items": _OWNER_REFERENCE,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"],
            "x-kubernetes-patch-merge-key": "uid",
            "x-kubernetes-patch-strategy": "merge",
        },
        "resourceVersion": _STRING,
        "selfLink": _STRING,
        "uid": _STRING,
    },
}
