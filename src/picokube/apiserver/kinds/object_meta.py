"""Validates `metadata`. Which names a kind allows is part of its type."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from picokube.apiserver.kinds.names import (
    label_value_problems,
    qualified_name_problems,
    unqualified_finalizer_problems,
)
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.protocol.messages import JsonObject
from picokube.schema import ErrorType, FieldError
from picokube.schema.errors import invalid, required
from picokube.schema.go_text import Struct

ANNOTATIONS_LIMIT = 256 * 1024

_DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"

_VALIDATED_AS_CHANGE: Final = frozenset(
    {
        _DEFINITIONS,
        "cronjobs.batch",
        "daemonsets.apps",
        "deployments.apps",
        "leases.coordination.k8s.io",
        "priorityclasses.scheduling.k8s.io",
        "replicasets.apps",
        "services",
        "statefulsets.apps",
    }
)
"""Kinds that check the metadata of a changed object as changed; the others check it as if it were new, too."""

_SHARED_FIELDS: Final = ("labels", "annotations", "ownerReferences")

_NOT_VALIDATED: Final = frozenset(
    {("events", ""), ("events.events.k8s.io", ""), ("cronjobs.batch", "status")}
)
"""Kinds, with a subresource, that leave metadata to the server."""


def metadata_errors(resource: ResourceType, meta: Mapping[str, Any]) -> list[FieldError]:
    """What is wrong with the metadata of a new object."""
    return [*_name_errors(resource, meta), *_shared_errors(meta), *_finalizer_errors(resource, meta)]


def changed_metadata_errors(
    resource: ResourceType, meta: Mapping[str, Any], before: Mapping[str, Any], subresource: str
) -> list[FieldError]:
    """What is wrong with the metadata of a changed object, repeated as often as kube-apiserver reports it.

    The server validates the new object and the change; the kind validates the change again, and most kinds the object.
    Unchanged fields were validated before.
    """
    shared = (
        [] if all(meta.get(name) == before.get(name) for name in _SHARED_FIELDS) else _shared_errors(meta)
    )
    found = [*_name_errors(resource, meta), *shared, *_finalizer_name_errors(resource, meta), *shared]
    if (resource.qualified, subresource) in _NOT_VALIDATED:
        return found
    if resource.is_custom or subresource == "status" or resource.qualified in _VALIDATED_AS_CHANGE:
        return [*found, *shared]
    return [*found, *shared, *shared, *_finalizer_errors(resource, meta)]


def _name_errors(resource: ResourceType, meta: Mapping[str, Any]) -> Iterator[FieldError]:
    if generated := meta.get("generateName"):
        for problem in resource.name_problems(str(generated).rstrip("-") or "-"):
            yield invalid("metadata.generateName", generated, problem)
    name = meta.get("name")
    if not name:
        yield required("metadata.name", "name or generateName is required")
    else:
        yield from (invalid("metadata.name", name, problem) for problem in resource.name_problems(name))


def _shared_errors(meta: Mapping[str, Any]) -> list[FieldError]:
    return [
        *label_errors("metadata.labels", meta.get("labels")),
        *_annotation_errors(meta.get("annotations") or {}),
        *_owner_errors(meta.get("ownerReferences") or []),
    ]


def _finalizer_errors(resource: ResourceType, meta: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from _finalizer_name_errors(resource, meta)
    if not _validates_own_finalizers(resource):
        for index, item in enumerate(meta.get("finalizers") or []):
            for problem in unqualified_finalizer_problems(item):
                yield invalid(f"metadata.finalizers[{index}]", item, problem)


def _finalizer_name_errors(resource: ResourceType, meta: Mapping[str, Any]) -> Iterator[FieldError]:
    if not _validates_own_finalizers(resource):
        for finalizer in meta.get("finalizers") or []:
            for problem in qualified_name_problems(finalizer):
                yield invalid("metadata.finalizers", finalizer, problem)
        yield from exclusive_finalizer_errors(meta)


def exclusive_finalizer_errors(meta: Mapping[str, Any]) -> Iterator[FieldError]:
    """Dependents are either orphaned or deleted first."""
    found = list(meta.get("finalizers") or ())
    if {"orphan", "foregroundDeletion"} <= set(found):
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        yield invalid("metadata.finalizers", found, detail)


def _validates_own_finalizers(resource: ResourceType) -> bool:
    """Whether a kind checks finalizers itself: custom resources and their definitions may have any name."""
    return resource.is_custom or resource.qualified == _DEFINITIONS


def label_errors(field: str, labels: Mapping[str, str] | None) -> Iterator[FieldError]:
    """What is wrong with the keys and values of labels."""
    for key, value in sorted((labels or {}).items()):
        yield from (invalid(field, key, problem) for problem in qualified_name_problems(key))
        yield from (invalid(field, value, problem) for problem in label_value_problems(value))


def _annotation_errors(annotations: Mapping[str, str]) -> Iterator[FieldError]:
    for key in sorted(annotations):
        for problem in qualified_name_problems(key.lower()):
            yield invalid("metadata.annotations", key, problem)
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > ANNOTATIONS_LIMIT:
        detail = f"may not be more than {ANNOTATIONS_LIMIT} bytes"
        yield FieldError(type=ErrorType.TOO_LONG, field="metadata.annotations", detail=detail)


def _owner_errors(owners: list[JsonObject]) -> Iterator[FieldError]:
    controllers: list[str] = []
    field = "metadata.ownerReferences"
    for owner in owners:
        for name in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(name):
                detail = "version must not be empty" if name == "apiVersion" else "must not be empty"
                yield invalid(f"{field}.{name}", owner.get(name, ""), detail)
        if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
            yield invalid(field, _as_written(owner), "/v1, Kind=Event is disallowed from being an owner")
        if owner.get("controller"):
            controllers.append(f"{owner.get('kind', '')}/{owner.get('name', '')}")
            if len(controllers) > 1:
                detail = (
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{controllers[0]} and {controllers[1]}"
                )
                yield invalid(field, [_as_written(item) for item in owners], detail)


def _as_written(owner: JsonObject) -> Struct:
    order = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
    return Struct({name: owner[name] for name in order if name in owner})


def with_empty_texts(obj: JsonObject) -> JsonObject:
    """The object, with labels and annotations that are null become the empty texts that Go reads them as."""
    meta = obj["metadata"]
    emptied = {
        name: {key: "" if value is None else value for key, value in meta[name].items()}
        for name in ("labels", "annotations")
        if meta.get(name) and None in meta[name].values()
    }
    return {**obj, "metadata": meta | emptied} if emptied else obj


def finalizer_warnings(
    resource: ResourceType, meta: Mapping[str, Any], before: Mapping[str, Any] | None = None
) -> list[str]:
    """Custom resources may have any finalizer, but are advised to name its owner."""
    if not resource.is_custom:
        return []
    known = (before or {}).get("finalizers") or ()
    return [
        f'metadata.finalizers: "{finalizer}": prefer a domain-qualified finalizer name to avoid accidental '
        "conflicts with other finalizer writers"
        for finalizer in meta.get("finalizers") or ()
        if finalizer not in known
        and "/" not in finalizer
        and finalizer not in ("orphan", "foregroundDeletion")
    ]
