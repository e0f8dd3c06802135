"""The bridge from kubectl's client-side apply: the annotation that says what it applied last. Only the manager named
"kubectl" crosses it. Knows types and values.
"""

from typing import Any

import orjson

from picokube.apiserver.apply.comparison import compare
from picokube.apiserver.apply.fieldset import FieldSet, difference
from picokube.apiserver.apply.merge_schema import MergeType
from picokube.apiserver.apply.path_elements import json_text
from picokube.apiserver.apply.type_check import type_problems
from picokube.apiserver.apply.typed_paths import UnkeyedItem, field_set

KUBECTL = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

_MAX_ANNOTATIONS = 256 * 1024


def client_side_fields(kind: MergeType, api_version: str, live: dict[str, Any]) -> FieldSet:
    """What client-side apply set and nobody changed since: kubectl may take this over from anyone.

    Nothing, if either object does not fit its type; items that are there twice do not.
    """
    text = _annotations(live).get(ANNOTATION)
    try:
        last = orjson.loads(text) if isinstance(text, str) and text else None
    except ValueError:
        return {}
    if not isinstance(last, dict) or last.get("apiVersion") != api_version:
        return {}
    if type_problems(kind, last) or type_problems(kind, live):
        return {}
    try:
        change = compare(kind, last, live)
    except UnkeyedItem:
        return {}
    return difference(difference(field_set(kind, last), change.taken), change.removed)


def with_last_applied(obj: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """The object with its annotation brought up to date, if it has one."""
    annotations = _annotations(obj)
    if not annotations.get(ANNOTATION):
        return obj
    updated = annotations | {ANNOTATION: _text_of(config)}
    if (
        sum(len(name.encode()) + len(str(value).encode()) for name, value in updated.items())
        > _MAX_ANNOTATIONS
    ):
        del updated[ANNOTATION]
    return {**obj, "metadata": {**obj["metadata"], "annotations": updated}}


def _text_of(config: dict[str, Any]) -> str:
    meta = config["metadata"]
    annotations = meta.get("annotations")
    if isinstance(annotations, dict) and ANNOTATION in annotations:
        others = {name: value for name, value in annotations.items() if name != ANNOTATION}
        config = {**config, "metadata": {**meta, "annotations": others}}
    return json_text(_whole_floats_as_integers(config)) + "\n"


def _whole_floats_as_integers(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _whole_floats_as_integers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole_floats_as_integers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _annotations(obj: dict[str, Any]) -> dict[str, Any]:
    found = (obj.get("metadata") or {}).get("annotations")
    return found if isinstance(found, dict) else {}
