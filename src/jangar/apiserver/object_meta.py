"""`metadata` of every object: what is wrong with it. Knows no kind; which names a kind allows, its type says."""

from collections.abc import Mapping
from typing import Any

from jangar.apiserver.names import finalizer_problems, label_value_problems, qualified_name_problems
from jangar.apiserver.resources import JsonObject, ResourceType
from jangar.schema import ErrorType, FieldError

ANNOTATIONS_LIMIT = 256 * 1024


def metadata_errors(resource: ResourceType, meta: Mapping[str, Any]) -> list[FieldError]:
    """What is wrong with the metadata of a new or changed object."""
    errors: list[FieldError] = []
    if generated := meta.get("generateName"):
        problems = resource.name_problems(str(generated).rstrip("-") or "-")
        errors += [_invalid("metadata.generateName", generated, each) for each in problems]
    name = meta.get("name")
    if not name:
        detail = "name or generateName is required"
        errors.append(FieldError(type=ErrorType.REQUIRED, field="metadata.name", detail=detail))
    else:
        errors += [_invalid("metadata.name", name, each) for each in resource.name_problems(name)]
    errors += _label_errors("metadata.labels", meta.get("labels") or {})
    errors += _annotation_errors(meta.get("annotations") or {})
    errors += _owner_errors(meta.get("ownerReferences") or [])
    if not resource.is_custom:
        errors += [
            _invalid(f"metadata.finalizers[{index}]", each, problem)
            for index, each in enumerate(meta.get("finalizers") or [])
            for problem in finalizer_problems(each)
        ]
    return errors


def _label_errors(field: str, labels: Mapping[str, str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in sorted(labels.items()):
        errors += [_invalid(field, key, problem) for problem in qualified_name_problems(key)]
        errors += [_invalid(field, value, problem) for problem in label_value_problems(value)]
    return errors


def _annotation_errors(annotations: Mapping[str, str]) -> list[FieldError]:
    field = "metadata.annotations"
    errors = [
        _invalid(field, key, problem)
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
                errors.append(_invalid(f"{place}.{name}", owner.get(name, ""), detail))
        if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
            errors.append(
                _invalid(place, _as_written(owner), "/v1, Kind=Event is disallowed from being an owner")
            )
        if owner.get("controller"):
            controllers.append(f"{owner.get('kind', '')}/{owner.get('name', '')}")
            if len(controllers) > 1:
                detail = (
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{controllers[0]} and {controllers[1]}"
                )
                errors.append(
                    _invalid("metadata.ownerReferences", [_as_written(each) for each in owners], detail)
                )
    return errors


def _as_written(owner: JsonObject) -> JsonObject:
    """In the order of the Go struct, as messages show it."""
    order = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
    return {name: owner[name] for name in order if name in owner}


def finalizer_warnings(
    resource: ResourceType, meta: Mapping[str, Any], before: Mapping[str, Any] | None = None
) -> list[str]:
    """Custom resources may have any finalizer, but are advised to name its owner."""
    if not resource.is_custom:
        return []
    known = (before or {}).get("finalizers") or ()
    return [
        f'metadata.finalizers: "{each}": prefer a domain-qualified finalizer name to avoid accidental conflicts with '
        "other finalizer writers"
        for each in meta.get("finalizers") or ()
        if each not in known and "/" not in each and each not in ("orphan", "foregroundDeletion")
    ]


def _invalid(field: str, value: object, detail: str) -> FieldError:
    return FieldError(type=ErrorType.INVALID, field=field, bad_value=value, detail=detail)
