"""CustomResourceDefinitions: defaults, validation and warnings, as in kube-apiserver.

kube-apiserver works on an older form, in which fields that all versions share are at the top; its messages show that.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from picokube.apiserver.kinds.names import label_1035_problems, subdomain_problems
from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    duplicate,
    forbidden,
    immutable,
    invalid,
    not_supported,
    required,
)
from picokube.apiserver.strategies.crds.custom import finalizer_errors
from picokube.apiserver.strategies.crds.status import APPROVED, ESTABLISHED, is_protected, is_true
from picokube.apiserver.strategies.kind import Kind
from picokube.schema import FieldError, structural_problems
from picokube.schema.errors import too_many
from picokube.schema.formats import checked_format
from picokube.schema.go_text import Struct

_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MAX_SELECTABLE_FIELDS: Final = 8
_STEP: Final = re.compile(r"\.([^.\[\]]+)")


def column_problems(field: str, column: Json) -> list[FieldError]:
    problems = [] if column.get("name") else [required(f"{field}.name")]
    kind, form = column.get("type", ""), column.get("format", "")
    one_of = f"must be one of {','.join(_TYPES)}"
    if not kind:
        problems.append(required(f"{field}.type", one_of))
    elif kind not in _TYPES:
        problems.append(invalid(f"{field}.type", kind, one_of))
    if form and form not in _FORMATS:
        problems.append(invalid(f"{field}.format", form, f"must be one of {','.join(_FORMATS)}"))
    path = column.get("jsonPath", "")
    return [
        *problems,
        *(_json_path_problems(f"{field}.JSONPath", path) if path else [required(f"{field}.JSONPath")]),
    ]


def _json_path_problems(field: str, path: str) -> list[FieldError]:
    return (
        [] if path.startswith(".") else [invalid(field, path, "must be a simple json path starting with .")]
    )


def scale_problems(field: str, subresources: Json) -> list[FieldError]:
    scale = subresources.get("scale")
    if scale is None:
        return []
    problems: list[FieldError] = []
    for name, under in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        place, path = f"{field}.scale.{name}", scale.get(name, "")
        if not path:
            problems.append(required(place))
        elif found := _json_path_problems(place, path):
            problems += found
        elif not path.startswith(f"{under}."):
            problems.append(invalid(place, path, f"should be a json path under {under}"))
    path = scale.get("labelSelectorPath") or ""
    place = f"{field}.scale.labelSelectorPath"
    if path and (found := _json_path_problems(place, path)):
        problems += found
    elif path and not path.startswith((".spec.", ".status.")):
        problems.append(invalid(place, path, "should be a json path under either .spec or .status"))
    return problems


def selectable_problems(field: str, fields: Sequence[Json], schema: Json) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: set[str] = set()
    for n, item in enumerate(fields):
        place, path = f"{field}[{n}].jsonPath", item.get("jsonPath", "")
        if not path:
            problems.append(required(place))
            continue
        kind, problem = _kind_at(path, schema)
        if problem:
            problems.append(invalid(place, path, f"is an invalid path: {problem}"))
            continue
        if kind not in ("string", "boolean", "integer"):
            detail = (
                "must point to a field of type string, boolean or integer. Enum string fields and strings with "
                "formats are allowed."
            )
            problems.append(invalid(place, path, detail))
        if path in seen:
            problems.append(duplicate(place, path))
        seen.add(path)
    return (
        [*problems, too_many(field, len(seen), _MAX_SELECTABLE_FIELDS)]
        if len(seen) > _MAX_SELECTABLE_FIELDS
        else problems
    )


def _kind_at(path: str, schema: Json) -> tuple[str, str]:
    """The type of the field that a path leads to, or why it leads nowhere."""
    if path[0] not in ".[":
        word = re.split(r"[.\[]", path)[0]
        return "", f"expected [ or . but got: {word}"
    at, found = 0, schema
    while at < len(path):
        step = _STEP.match(path, at)
        inner = (found.get("properties") or {}).get(step[1]) if step else None
        if step is None or inner is None:
            return "", "does not refer to a valid field"
        at, found = step.end(), inner
    return str(found.get("type", "")), ""


_SHARED: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
_NONE_ONLY: Final = "this server converts by None alone"


def crd_problems(obj: Json, old: Json | None) -> list[FieldError]:
    spec, name = obj["spec"], obj["metadata"].get("name", "")
    problems: list[FieldError] = []
    if old is None and name != f"{spec['names'].get('plural', '')}.{spec.get('group', '')}":
        problems.append(invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    problems += finalizer_errors(obj)
    problems += _group_problems(spec.get("group", ""))
    scope = spec.get("scope", "")
    if not scope:
        problems.append(required("spec.scope"))
    elif scope not in ("Cluster", "Namespaced"):
        problems.append(not_supported("spec.scope", scope, ("Cluster", "Namespaced")))
    problems += _version_problems(spec, None if old is None else old["spec"])
    problems += _name_problems("spec.names", spec["names"])
    problems += _shared_problems(spec, None if old is None else old["spec"])
    problems += _conversion_problems(spec.get("conversion") or {})
    if old is None:
        problems += stored_version_problems(obj)
    problems += _approval_problems(obj, old)
    if spec.get("preserveUnknownFields"):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        problems.append(invalid("spec.preserveUnknownFields", True, detail))
    return problems


def _group_problems(group: str) -> list[FieldError]:
    if not group:
        return [required("spec.group")]
    if problems := subdomain_problems(group):
        return [invalid("spec.group", group, ",".join(problems))]
    return [] if "." in group else [invalid("spec.group", group, "should be a domain with at least one dot")]


def _shared(spec: Json, name: str) -> Any:
    """What every version says alike; None where they differ."""
    versions = spec.get("versions") or []
    values = [version.get(name) for version in versions]
    if not values or not values[0] or any(value != values[0] for value in values):
        return None
    return values[0]


def _version_problems(spec: Json, old: Json | None) -> list[FieldError]:
    versions = spec.get("versions") or []
    problems = [
        required(f"spec.versions[{n}].schema.openAPIV3Schema")
        for n, item in enumerate(versions)
        if not (item.get("schema") or {}).get("openAPIV3Schema")
    ]
    shared = {name: _shared(spec, name) for name in _SHARED}
    for n, item in enumerate(versions):
        place = f"spec.versions[{n}]"
        if found := label_1035_problems(item.get("name", "")):
            problems.append(invalid(f"{place}.name", item.get("name", ""), ",".join(found)))
        problems += _deprecation_problems(place, item)
        own = {name: item.get(name) for name in _SHARED if shared[name] is None}
        problems += _part_problems(
            place, own, item, _old_version(old, item.get("name", "")), schema_name="schema"
        )
    names = [version.get("name", "") for version in versions]
    shown = [_shown_version(version, shared) for version in versions]
    if len(set(names)) < len(names):
        problems.append(invalid("spec.versions", shown, "must contain unique version names"))
    if sum(1 for version in versions if version.get("storage")) != 1:
        detail = "must have exactly one version marked as storage version"
        problems.append(invalid("spec.versions", shown, detail))
    if names and (found := label_1035_problems(names[0])):
        problems.append(invalid("spec.version", names[0], ",".join(found)))
    return problems


def _shared_problems(spec: Json, old: Json | None) -> list[FieldError]:
    versions = spec.get("versions") or []
    if not versions:
        return []
    own = {name: _shared(spec, name) for name in _SHARED}
    before = None if old is None else {name: _shared(old, name) for name in _SHARED}
    return _part_problems("spec", own, versions[0], before, schema_name="validation")


def _part_problems(
    place: str, part: Json, version: Json, old: Json | None, *, schema_name: str
) -> list[FieldError]:
    problems: list[FieldError] = []
    schema = (part.get("schema") or {}).get("openAPIV3Schema")
    if schema and schema != ((old or {}).get("schema") or {}).get("openAPIV3Schema"):
        problems += structural_problems(schema, field=f"{place}.{schema_name}.openAPIV3Schema")
    problems += scale_problems(f"{place}.subresources", part.get("subresources") or {})
    for n, column in enumerate(part.get("additionalPrinterColumns") or ()):
        problems += column_problems(f"{place}.additionalPrinterColumns[{n}]", column)
    whole = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return [
        *problems,
        *selectable_problems(f"{place}.selectableFields", part.get("selectableFields") or (), whole),
    ]


def _old_version(old: Json | None, name: str) -> Json | None:
    return next(
        (version for version in (old or {}).get("versions") or () if version.get("name") == name), None
    )


def _deprecation_problems(place: str, version: Json) -> list[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return []
    if not version.get("deprecated"):
        detail = "can only be set for deprecated versions"
        return [invalid(f"{place}.deprecationWarning", warning, detail)]
    if not warning:
        return [invalid(f"{place}.deprecationWarning", warning, "must not be an empty string")]
    if len(warning) > 256:  # noqa: PLR2004 - kube's limit
        return [invalid(f"{place}.deprecationWarning", warning, "must be <= 256 characters long")]
    return []


def _shown_version(version: Json, shared: Json) -> Struct:
    """As Go prints the older form: what is shared is not shown here."""
    own = {name: version.get(name) if shared[name] is None else None for name in _SHARED}
    return Struct(
        Name=version.get("name", ""),
        Served=bool(version.get("served")),
        Storage=bool(version.get("storage")),
        Deprecated=bool(version.get("deprecated")),
        DeprecationWarning=version.get("deprecationWarning"),
        Schema=own["schema"],
        Subresources=own["subresources"],
        AdditionalPrinterColumns=own["additionalPrinterColumns"],
        SelectableFields=own["selectableFields"],
    )


def _name_problems(field: str, names: Json) -> list[FieldError]:
    problems = [
        required(f"{field}.{name}")
        for name in ("plural", "singular", "kind", "listKind")
        if not names.get(name) and (name in ("plural", "kind") or names.get("kind"))
    ]
    problems += [
        invalid(f"{field}.{name}", names[name], ",".join(found))
        for name in ("plural", "singular")
        if names.get(name) and (found := label_1035_problems(names[name]))
    ]
    for name in ("kind", "listKind"):
        if names.get(name) and (found := label_1035_problems(names[name].lower())):
            detail = "may have mixed case, but should otherwise match: " + ",".join(found)
            problems.append(invalid(f"{field}.{name}", names[name], detail))
    for name in ("shortNames", "categories"):
        for n, item in enumerate(names.get(name) or ()):
            if found := label_1035_problems(item):
                problems.append(invalid(f"{field}.{name}[{n}]", item, ",".join(found)))
    if names.get("kind") and names["kind"] == names.get("listKind"):
        problems.append(
            invalid(f"{field}.listKind", names["listKind"], "kind and listKind may not be the same")
        )
    return problems


def _conversion_problems(conversion: Json) -> list[FieldError]:
    strategy, place = conversion.get("strategy", ""), "spec.conversion"
    if not strategy:
        return [required(f"{place}.strategy")]
    if strategy not in ("None", "Webhook"):
        return [not_supported(f"{place}.strategy", strategy, ("None", "Webhook"))]
    hook = conversion.get("webhook") or {}
    if strategy == "None":
        detail = "should not be set when strategy is not set to Webhook"
        return [forbidden(f"{place}.webhookClientConfig", detail)] if hook.get("clientConfig") else []
    problems: list[FieldError] = []
    if not hook.get("clientConfig"):
        problems.append(required(f"{place}.webhookClientConfig", "required when strategy is set to Webhook"))
    if not hook.get("conversionReviewVersions"):
        problems.append(required(f"{place}.conversionReviewVersions"))
    return problems or [forbidden(f"{place}.strategy", _NONE_ONLY)]


def stored_version_problems(obj: Json) -> list[FieldError]:
    stored = (obj.get("status") or {}).get("storedVersions") or []
    place = "status.storedVersions"
    if not stored:
        return [invalid(place, None, "must have at least one stored version")]
    versions = obj["spec"].get("versions") or []
    problems = [
        invalid(place, stored, f"must have the storage version {version['name']}")
        for version in versions
        if version.get("storage") and version.get("name") not in stored
    ]
    names = {version.get("name") for version in versions}
    for n, item in enumerate(stored):
        if item not in names:
            detail = (
                f"missing from spec.versions; {item} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {item} and removes "
                f"{item} from status.storedVersions"
            )
            problems.append(invalid(f"{place}[{n}]", item, detail))
    return problems


def _approval_problems(obj: Json, old: Json | None) -> list[FieldError]:
    if not is_protected(obj["spec"].get("group", "")):
        return []
    stated = (obj["metadata"].get("annotations") or {}).get(APPROVED, "")
    if stated.startswith(("http://", "https://", "unapproved")) or old is not None:
        return []
    place = f"metadata.annotations[{APPROVED}]"
    if not stated:
        detail = (
            f'protected groups must have approval annotation "{APPROVED}", see '
            "https://github.com/kubernetes/enhancements/pull/1111"
        )
        return [required(place, detail)]
    detail = (
        f'protected groups must have approval annotation "{APPROVED}" with either a URL or a reason starting with '
        '"unapproved", see https://github.com/kubernetes/enhancements/pull/1111'
    )
    return [invalid(place, stated, detail)]


_ONE: Final = ("items", "not", "additionalProperties", "additionalItems")
_SOME: Final = ("allOf", "anyOf", "oneOf")
_NAMED: Final = ("properties", "patternProperties", "definitions")


def format_warnings(definition: Json, old: Json | None) -> list[str]:
    """A word for each format that is new and unknown."""
    if old is not None and old["spec"] == definition["spec"]:
        return []
    known = _unknown_formats(old) if old is not None else set()
    return [
        f'unrecognized format "{unknown_format}"'
        for unknown_format in sorted(_unknown_formats(definition) - known)
    ]


def _unknown_formats(definition: Json) -> set[str]:
    return {
        schema["format"]
        for version in definition["spec"].get("versions") or ()
        for schema in _schemas((version.get("schema") or {}).get("openAPIV3Schema"))
        if schema.get("type") == "string" and schema.get("format") and not checked_format(schema["format"])
    }


def _schemas(schema: Any) -> Iterator[Json]:
    """A schema and all below it."""
    if not isinstance(schema, dict):
        return
    yield schema
    for name in _ONE:
        yield from _schemas(schema.get(name))
    for name in _SOME:
        for item in schema.get(name) or ():
            yield from _schemas(item)
    for name in _NAMED:
        for item in (schema.get(name) or {}).values():
            yield from _schemas(item)


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
