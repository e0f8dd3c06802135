"""CustomResourceDefinitions: defaults, validation and warnings, as in kube-apiserver.

kube-apiserver works on an older form, in which fields that all versions share are at the top; its messages show that.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from picokube.apiserver.kinds.names import dns_1035_problems, subdomain_problems
from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    Problems,
    Rule,
    check,
    duplicate,
    each,
    forbidden,
    given,
    immutable_members,
    invalid,
    members,
    need,
    nonempty,
    one_of,
    required,
)
from picokube.apiserver.strategies.crds.custom import finalizer_errors
from picokube.apiserver.strategies.crds.status import APPROVED, ESTABLISHED, is_protected, is_true
from picokube.apiserver.strategies.kind import Kind
from picokube.schema import structural_problems
from picokube.schema.errors import too_many
from picokube.schema.formats import checked_format
from picokube.schema.go_text import Struct

_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MAX_SELECTABLE_FIELDS: Final = 8
_STEP: Final = re.compile(r"\.([^.\[\]]+)")


def _json_path(field: str, path: str) -> Problems:
    if not path.startswith("."):
        yield invalid(field, path, "must be a simple json path starting with .")


def _listed(*allowed: str) -> Rule:
    def check_listed(field: str, value: str) -> Problems:
        if value not in allowed:
            yield invalid(field, value, f"must be one of {','.join(allowed)}")

    return check_listed


_COLUMN_ROWS: Final = (
    ("name", need()),
    ("type", need(_listed(*_TYPES), f"must be one of {','.join(_TYPES)}")),
    ("format", nonempty(_listed(*_FORMATS))),
)


def _column(field: str, column: Json) -> Problems:
    yield from check(field, column, *_COLUMN_ROWS)
    yield from need(_json_path)(f"{field}.JSONPath", column.get("jsonPath"))


def _path_below(*roots: str, detail: str) -> Rule:
    def check_path(field: str, path: str) -> Problems:
        yield from _json_path(field, path)
        if path.startswith(".") and not path.startswith(tuple(f"{root}." for root in roots)):
            yield invalid(field, path, detail)

    return check_path


_UNDER_EITHER: Final = "should be a json path under either .spec or .status"
_SCALE: Final = members(
    ("specReplicasPath", need(_path_below(".spec", detail="should be a json path under .spec"))),
    ("statusReplicasPath", need(_path_below(".status", detail="should be a json path under .status"))),
    ("labelSelectorPath", nonempty(_path_below(".spec", ".status", detail=_UNDER_EITHER))),
)


def _selectable_problems(field: str, fields: Sequence[Json], schema: Json) -> Problems:
    seen: set[str] = set()
    for n, item in enumerate(fields):
        place, path = f"{field}[{n}].jsonPath", item.get("jsonPath", "")
        if not path:
            yield required(place)
            continue
        kind, problem = _kind_at(path, schema)
        if problem:
            yield invalid(place, path, f"is an invalid path: {problem}")
            continue
        if kind not in ("string", "boolean", "integer"):
            detail = (
                "must point to a field of type string, boolean or integer. Enum string fields and strings with "
                "formats are allowed."
            )
            yield invalid(place, path, detail)
        if path in seen:
            yield duplicate(place, path)
        seen.add(path)
    if len(seen) > _MAX_SELECTABLE_FIELDS:
        yield too_many(field, len(seen), _MAX_SELECTABLE_FIELDS)


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
_MAX_WARNING_LENGTH: Final = 256
_NONE_ONLY: Final = "this server converts by None alone"


def crd_problems(obj: Json, old: Json | None) -> Problems:
    spec, name = obj["spec"], obj["metadata"].get("name", "")
    before = None if old is None else old["spec"]
    if old is None and name != f"{spec['names'].get('plural', '')}.{spec.get('group', '')}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from finalizer_errors(obj)
    yield from check("spec", spec, ("group", need(_group)), ("scope", one_of("Cluster", "Namespaced")))
    yield from _version_problems(spec, before)
    yield from _name_problems(spec["names"])
    yield from _shared_problems(spec, before)
    yield from _conversion_problems(spec.get("conversion") or {})
    if old is None:
        yield from stored_version_problems(obj)
        yield from _approval_problems(obj)
    if spec.get("preserveUnknownFields"):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        yield invalid("spec.preserveUnknownFields", True, detail)


def _group(field: str, group: str) -> Problems:
    if problems := subdomain_problems(group):
        yield invalid(field, group, ",".join(problems))
    elif "." not in group:
        yield invalid(field, group, "should be a domain with at least one dot")


def _joined_label(field: str, name: str | None) -> Problems:
    """A DNS-1035 label; all its problems are one error."""
    if found := dns_1035_problems(name or ""):
        yield invalid(field, name or "", ",".join(found))


def _mixed_case_label(field: str, name: str) -> Problems:
    if found := dns_1035_problems(name.lower()):
        detail = "may have mixed case, but should otherwise match: " + ",".join(found)
        yield invalid(field, name, detail)


def _shared(spec: Json, name: str) -> Any:
    """The value that all versions share; None if they differ."""
    versions = spec.get("versions") or []
    values = [version.get(name) for version in versions]
    if not values or not values[0] or any(value != values[0] for value in values):
        return None
    return values[0]


def _version_problems(spec: Json, old: Json | None) -> Problems:
    versions = spec.get("versions") or []
    for n, item in enumerate(versions):
        if not (item.get("schema") or {}).get("openAPIV3Schema"):
            yield required(f"spec.versions[{n}].schema.openAPIV3Schema")
    shared = {name: _shared(spec, name) for name in _SHARED}
    for n, item in enumerate(versions):
        place, name = f"spec.versions[{n}]", item.get("name", "")
        yield from _joined_label(f"{place}.name", name)
        yield from _deprecation_problems(f"{place}.deprecationWarning", item)
        own = {part: item.get(part) for part in _SHARED if shared[part] is None}
        yield from _part_problems(place, own, item, _old_version(old, name), schema_name="schema")
    names = [version.get("name", "") for version in versions]
    shown = [_shown_version(version, shared) for version in versions]
    if len(set(names)) < len(names):
        yield invalid("spec.versions", shown, "must contain unique version names")
    if sum(1 for version in versions if version.get("storage")) != 1:
        yield invalid("spec.versions", shown, "must have exactly one version marked as storage version")
    if names:
        yield from _joined_label("spec.version", names[0])


def _shared_problems(spec: Json, old: Json | None) -> Problems:
    versions = spec.get("versions") or []
    if versions:
        own = {name: _shared(spec, name) for name in _SHARED}
        before = None if old is None else {name: _shared(old, name) for name in _SHARED}
        yield from _part_problems("spec", own, versions[0], before, schema_name="validation")


def _part_problems(place: str, part: Json, version: Json, old: Json | None, *, schema_name: str) -> Problems:
    schema = (part.get("schema") or {}).get("openAPIV3Schema")
    if schema and schema != ((old or {}).get("schema") or {}).get("openAPIV3Schema"):
        yield from structural_problems(schema, field=f"{place}.{schema_name}.openAPIV3Schema")
    rows = (("subresources", members(("scale", given(_SCALE)))), ("additionalPrinterColumns", each(_column)))
    yield from check(place, part, *rows)
    whole = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    yield from _selectable_problems(f"{place}.selectableFields", part.get("selectableFields") or (), whole)


def _old_version(old: Json | None, name: str) -> Json | None:
    return next(
        (version for version in (old or {}).get("versions") or () if version.get("name") == name), None
    )


def _deprecation_problems(field: str, version: Json) -> Problems:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        yield invalid(field, warning, "can only be set for deprecated versions")
    elif not warning:
        yield invalid(field, warning, "must not be an empty string")
    elif len(warning) > _MAX_WARNING_LENGTH:
        yield invalid(field, warning, f"must be <= {_MAX_WARNING_LENGTH} characters long")


def _shown_version(version: Json, shared: Json) -> Struct:
    """A version as Go prints the older form, without shared fields."""
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


def _name_problems(names: Json) -> Problems:
    field = "spec.names"
    for name in ("plural", "singular", "kind", "listKind"):
        if not names.get(name) and (name in ("plural", "kind") or names.get("kind")):
            yield required(f"{field}.{name}")
    yield from check(field, names, *_NAME_ROWS)
    if names.get("kind") and names["kind"] == names.get("listKind"):
        yield invalid(f"{field}.listKind", names["listKind"], "kind and listKind may not be the same")


_NAME_ROWS: Final = (
    ("plural", nonempty(_joined_label)),
    ("singular", nonempty(_joined_label)),
    ("kind", nonempty(_mixed_case_label)),
    ("listKind", nonempty(_mixed_case_label)),
    ("shortNames", each(_joined_label)),
    ("categories", each(_joined_label)),
)


def _conversion_problems(conversion: Json) -> Problems:
    strategy, place = conversion.get("strategy", ""), "spec.conversion"
    hook = conversion.get("webhook") or {}
    if strategy not in ("None", "Webhook"):
        yield from one_of("None", "Webhook")(f"{place}.strategy", strategy)
    elif strategy == "None":
        if hook.get("clientConfig"):
            detail = "should not be set when strategy is not set to Webhook"
            yield forbidden(f"{place}.webhookClientConfig", detail)
    elif hook.get("clientConfig") and hook.get("conversionReviewVersions"):
        yield forbidden(f"{place}.strategy", _NONE_ONLY)
    else:
        client = need(detail="required when strategy is set to Webhook")
        yield from client(f"{place}.webhookClientConfig", hook.get("clientConfig"))
        yield from need()(f"{place}.conversionReviewVersions", hook.get("conversionReviewVersions"))


def stored_version_problems(obj: Json) -> Problems:
    stored = (obj.get("status") or {}).get("storedVersions") or []
    place = "status.storedVersions"
    if not stored:
        yield invalid(place, None, "must have at least one stored version")
        return
    versions = obj["spec"].get("versions") or []
    for version in versions:
        if version.get("storage") and version.get("name") not in stored:
            yield invalid(place, stored, f"must have the storage version {version['name']}")
    names = {version.get("name") for version in versions}
    for n, item in enumerate(stored):
        if item not in names:
            detail = (
                f"missing from spec.versions; {item} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {item} and removes "
                f"{item} from status.storedVersions"
            )
            yield invalid(f"{place}[{n}]", item, detail)


def _approval_problems(obj: Json) -> Problems:
    stated = (obj["metadata"].get("annotations") or {}).get(APPROVED, "")
    is_approval = stated.startswith(("http://", "https://", "unapproved"))
    if is_approval or not is_protected(obj["spec"].get("group", "")):
        return
    place, see = (
        f"metadata.annotations[{APPROVED}]",
        "see https://github.com/kubernetes/enhancements/pull/1111",
    )
    detail = f'protected groups must have approval annotation "{APPROVED}"'
    if stated:
        how = 'with either a URL or a reason starting with "unapproved"'
        yield invalid(place, stated, f"{detail} {how}, {see}")
    else:
        yield required(place, f"{detail}, {see}")


_ONE: Final = ("items", "not", "additionalProperties", "additionalItems")
_SOME: Final = ("allOf", "anyOf", "oneOf")
_NAMED: Final = ("properties", "patternProperties", "definitions")


def format_warnings(definition: Json, old: Json | None) -> list[str]:
    """A warning for each new unknown format."""
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

    def reset_update(self, obj: JsonObject, _old: Json, subresource: str) -> None:
        if subresource == "status":
            return
        stored = obj["status"].get("storedVersions") or []
        added = [name for name in _storage_versions(obj["spec"])[:1] if name not in stored]
        obj["status"]["storedVersions"] = [*stored, *added]

    def problems(self, obj: Json) -> Problems:
        return crd_problems(obj, None)

    def update_problems(self, obj: Json, old: Json) -> Problems:
        spec, before = obj["spec"], old["spec"]
        yield from crd_problems(obj, old)
        if is_true(old, ESTABLISHED):
            yield from immutable_members("spec", spec, before, "scope")
            yield from immutable_members("spec.names", spec["names"], before["names"], "kind")
        yield from immutable_members("spec", spec, before, "group")
        yield from immutable_members("spec.names", spec["names"], before["names"], "plural")
        yield from stored_version_problems(obj)

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        return format_warnings(obj, old)

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [obj["metadata"].get("creationTimestamp", "")]


def _storage_versions(spec: Json) -> list[str]:
    return [version.get("name", "") for version in spec.get("versions") or () if version.get("storage")]
