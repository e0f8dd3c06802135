"""`metadata` of every object: what is wrong with it. Knows no kind but those that look at it less often than others;
which names a kind allows, its type says.
"""

from collections.abc import Mapping
from typing import Any, Final

from picokube.apiserver.kinds.names import (
    label_value_problems,
    qualified_name_problems,
    unqualified_finalizer_problems,
)
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.protocol.messages import JsonObject
from picokube.schema import ErrorType, FieldError
from picokube.schema.errors import invalid
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
    """What is wrong with the metadata of a changed object, as often as kube-apiserver finds it.

    The server looks at the new object and at the change. Its kind looks at the change again; most do at the object.
    What is as it was stored has been looked at.
    """
    shared = (
        [] if all(meta.get(name) == before.get(name) for name in _SHARED_FIELDS) else _shared_errors(meta)
    )
    errors = [*_name_errors(resource, meta), *shared, *_finalizer_name_errors(resource, meta), *shared]
    if (resource.qualified, subresource) in _NOT_VALIDATED:
        return errors
    errors += shared
    if resource.is_custom or subresource == "status" or resource.qualified in _VALIDATED_AS_CHANGE:
        return errors
    return [*errors, *shared, *_finalizer_errors(resource, meta)]


def _name_errors(resource: ResourceType, meta: Mapping[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    if generated := meta.get("generateName"):
        problems = resource.name_problems(str(generated).rstrip("-") or "-")
        errors += [invalid("metadata.generateName", generated, problem) for problem in problems]
    name = meta.get("name")
    if not name:
        detail = "name or generateName is required"
        return [*errors, FieldError(type=ErrorType.REQUIRED, field="metadata.name", detail=detail)]
    return [
        *errors,
        *(invalid("metadata.name", name, name_problem) for name_problem in resource.name_problems(name)),
    ]


def _shared_errors(meta: Mapping[str, Any]) -> list[FieldError]:
    return [
        *_label_errors("metadata.labels", meta.get("labels") or {}),
        *_annotation_errors(meta.get("annotations") or {}),
        *_owner_errors(meta.get("ownerReferences") or []),
    ]


def _finalizer_errors(resource: ResourceType, meta: Mapping[str, Any]) -> list[FieldError]:
    if _validates_own_finalizers(resource):
        return []
    unqualified = [
        invalid(f"metadata.finalizers[{index}]", item, problem)
        for index, item in enumerate(meta.get("finalizers") or [])
        for problem in unqualified_finalizer_problems(item)
    ]
    return [*_finalizer_name_errors(resource, meta), *unqualified]


def _finalizer_name_errors(resource: ResourceType, meta: Mapping[str, Any]) -> list[FieldError]:
    if _validates_own_finalizers(resource):
        return []
    return [
        invalid("metadata.finalizers", finalizer, problem)
        for finalizer in meta.get("finalizers") or []
        for problem in qualified_name_problems(finalizer)
    ] + exclusive_finalizer_errors(meta)


def exclusive_finalizer_errors(meta: Mapping[str, Any]) -> list[FieldError]:
    """Dependents are either left behind or deleted first."""
    found = list(meta.get("finalizers") or ())
    if not {"orphan", "foregroundDeletion"} <= set(found):
        return []
    detail = "finalizer orphan and foregroundDeletion cannot be both set"
    return [invalid("metadata.finalizers", found, detail)]


def _validates_own_finalizers(resource: ResourceType) -> bool:
    """Whether a kind looks at its finalizers itself: custom resources and their definitions may have any name."""
    return resource.is_custom or resource.qualified == _DEFINITIONS


def _label_errors(field: str, labels: Mapping[str, str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in sorted(labels.items()):
        errors += [invalid(field, key, problem) for problem in qualified_name_problems(key)]
        errors += [invalid(field, value, problem) for problem in label_value_problems(value)]
    return errors


def _annotation_errors(annotations: Mapping[str, str]) -> list[FieldError]:
    field = "metadata.annotations"
    errors = [
        invalid(field, key, problem)
        for key in sorted(annotations)
        for problem in qualified_name_problems(key.lower())
    ]
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > ANNOTATIONS_LIMIT:
        detail = f"may not be more than {ANNOTATIONS_LIMIT} bytes"
        errors.append(FieldError(type=ErrorType.TOO_LONG, field=field, detail=detail))
    return errors


def _owner_errors(owners: list[JsonObject]) -> list[FieldError]:
    errors: list[FieldError] = []
    controllers: list[str] = []
    for owner in owners:
        place = "metadata.ownerReferences"
        for name in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(name):
                detail = "version must not be empty" if name == "apiVersion" else "must not be empty"
                errors.append(invalid(f"{place}.{name}", owner.get(name, ""), detail))
        if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
            errors.append(
                invalid(place, _as_written(owner), "/v1, Kind=Event is disallowed from being an owner")
            )
        if owner.get("controller"):
            controllers.append(f"{owner.get('kind', '')}/{owner.get('name', '')}")
            if len(controllers) > 1:
                detail = (
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{controllers[0]} and {controllers[1]}"
                )
                errors.append(
                    invalid("metadata.ownerReferences", [_as_written(item) for item in owners], detail)
                )
    return errors


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
