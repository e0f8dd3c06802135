"""Validates the schema of a CustomResourceDefinition like kube-apiserver, including whether it is structural.

The entry point is `structural_problems`. Structural invariants and defaults are checked here, keywords in `keywords`
and CEL rules in `rules`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from picokube.schema.cel.rules import RuleSet
from picokube.schema.errors import NO_FIELD, FieldError, Path, SchemaRejected, forbidden, invalid, required
from picokube.schema.node import MAX_DEPTH, Node, is_readable, mistyped_keywords, place, subschemas
from picokube.schema.patterns import matcher
from picokube.schema.pruning import prune, pruned_value
from picokube.schema.structural.keywords import keyword_problems
from picokube.schema.validation.correlation import same_json
from picokube.schema.validation.value_checks import embedded_errors, embedding_routes, value_errors


def default_problems(node: Node) -> Iterator[FieldError]:
    """The errors of defaults with unknown fields, or that violate their schema or rules."""
    if node.default is not None:
        field = f"{place(node.at)}.default" if node.at else "default"
        # The root is a resource, so its default must be a resource, too.
        yield from _problems(node if node.at else replace(node, embedded=True), node.default, field)
    if node.items is not None:
        yield from default_problems(node.items)
    for child in node.properties.values():
        yield from default_problems(child)


def _problems(node: Node, default: Any, field: str) -> Iterator[FieldError]:
    at = (*node.at, "default")
    kept = (
        prune(default, node).kept
        if node.embedded and isinstance(default, dict)
        else pruned_value(default, node)
    )
    if not same_json(kept, default):
        yield invalid(field, default, "must not have unknown fields", path=at)
    errors = [*embedded_errors(default, node, embedding_routes(node)), *value_errors(default, node)]
    if not errors:
        rules = RuleSet.of(node, root=node.embedded)
        errors = rules.errors(default, default) or rules.errors(default, None) if rules is not None else []
    for error in errors:
        inner = "" if error.field == NO_FIELD else error.field
        # Kubernetes writes a dot before the list index here.
        name = f"{field}.{inner}" if inner else field
        yield FieldError(
            type=error.type,
            field=name,
            bad_value=error.bad_value,
            detail=error.detail,
            path=(*at, *error.path),
        )


ROOT: Final = "spec.validation.openAPIV3Schema"
_LEVELS: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_NESTED: Final = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_Schema = Mapping[str, Any]


def structural_problems(schema: _Schema, *, field: str = ROOT) -> list[FieldError]:
    """All errors of an openAPIV3Schema. The `path` of an error is relative to `schema`."""
    shapes = list(_shape_problems(schema, ()))
    if shapes:
        return _named(shapes, field)
    problems = (
        [forbidden("nullable", "nullable cannot be true at the root")] if schema.get("nullable") else []
    )
    readable = is_readable(schema)
    if readable:
        structure = [*_invariants(schema, "root", ()), *_completeness(schema, schema, (), ())]
        structure.sort(key=lambda item: item.message)
        problems += structure or default_problems(Node.of(schema, as_written=True))
    problems += keyword_problems(schema, with_rules=readable and not problems)
    return _named(problems, field)


def _named(problems: list[FieldError], prefix: str) -> list[FieldError]:
    """The errors with field names relative to the CustomResourceDefinition."""
    return [
        FieldError(
            type=problem.type,
            field=f"{prefix}.{problem.field}" if problem.field else prefix,
            bad_value=problem.bad_value,
            detail=problem.detail.replace("\0", f"{prefix}."),
            path=problem.path,
        )
        for problem in problems
    ]


def _at(at: Path) -> str:
    return place(at) if at else ""


def _shape_problems(schema: Any, at: Path) -> Iterator[FieldError]:
    """The errors of JSON types, which a server rejects when it decodes the request."""
    if not isinstance(schema, dict):
        yield invalid(_at(at), schema, "must be an object", path=at)
        return
    if len(at) > 2 * MAX_DEPTH:
        yield invalid(_at(at[:8]), "", f"must not nest deeper than {MAX_DEPTH} levels", path=at)
        return
    wrong = dict(mistyped_keywords(schema))
    for keyword, expected in wrong.items():
        if keyword != "items" or not isinstance(schema[keyword], list):
            yield invalid(_at((*at, keyword)), schema[keyword], f"must be {expected}", path=(*at, keyword))
    for inner, steps in subschemas(schema):
        if steps[0] not in wrong:
            yield from _shape_problems(inner, (*at, *steps))
    lists = {key: schema[key] for key in ("required", "x-kubernetes-validations") if key in schema}
    try:
        if lists:
            Node.of(lists)
    except SchemaRejected as error:
        yield invalid(_at(at), "", str(error).partition(" at the root")[0], path=at)


def _invariants(schema: _Schema, level: str, at: Path) -> Iterator[FieldError]:
    kind, embedded = schema.get("type", ""), bool(schema.get("x-kubernetes-embedded-resource"))
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if kind == "array" and items is None:
        yield required(_at((*at, "items")), "must be specified", path=at)
    if isinstance(items, dict):
        yield from _invariants(items, "item", (*at, "items"))
    for name, item in (schema.get("properties") or {}).items():
        yield from _invariants(item, "field", (*at, "properties", name))
    if additional is not None and level == "root":
        yield forbidden(_at((*at, "additionalProperties")), "must not be used at the root", path=at)
    if isinstance(additional, dict):
        yield from _invariants(additional, "field", (*at, "additionalProperties"))
    yield from _extensions(schema, at)
    yield from _value_validation(schema, at, skip_any_of=schema.get("anyOf") == _INT_OR_STRING, first=True)
    yield from _type(schema, level, at)
    if embedded and additional is not None:
        problem = "must not be used if x-kubernetes-embedded-resource is set"
        yield forbidden(_at((*at, "additionalProperties")), problem, path=at)
    yield from _metadata(schema, level, at)
    if embedded and not schema.get("x-kubernetes-preserve-unknown-fields") and not schema.get("properties"):
        problem = (
            "must not be empty if x-kubernetes-embedded-resource is true "
            "without x-kubernetes-preserve-unknown-fields"
        )
        yield required(_at((*at, "properties")), problem, path=at)


def _extensions(schema: _Schema, at: Path) -> Iterator[FieldError]:
    if schema.get("x-kubernetes-int-or-string"):
        for keyword in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
            if schema.get(keyword):
                problem = "must be false if x-kubernetes-int-or-string is true"
                yield invalid(_at((*at, keyword)), True, problem, path=at)


def _type(schema: _Schema, level: str, at: Path) -> Iterator[FieldError]:
    kind, field = schema.get("type", ""), _at((*at, "type"))
    if schema.get("x-kubernetes-embedded-resource") and kind != "object":
        problem = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(field, kind, problem, path=at) if kind else required(field, problem, path=at)
    elif not kind and not any(
        schema.get(f"x-kubernetes-{item}") for item in ("int-or-string", "preserve-unknown-fields")
    ):
        yield required(field, _LEVELS[level], path=at)
    if level == "root" and kind and kind != "object":
        yield invalid(field, kind, "must be object at the root", path=at)


def _metadata(schema: _Schema, level: str, at: Path) -> Iterator[FieldError]:
    """A schema may restrict only name and generateName of the metadata."""
    properties = schema.get("properties") or {}
    resource = level == "root" or bool(schema.get("x-kubernetes-embedded-resource"))
    for name, expected in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        if resource and name in properties and properties[name].get("type", "") != expected:
            field = _at((*at, "properties", name, "type"))
            yield invalid(
                field, properties[name].get("type", ""), f"must be {expected}", path=(*at, "properties", name)
            )
    if level == "root" and "metadata" in properties:
        rest = {
            key: item
            for key, item in properties["metadata"].items()
            if key not in {"type", "default"} and item
        }
        named = set(rest.pop("properties", {}))
        if rest or not named <= {"name", "generateName"}:
            problem = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden(
                _at((*at, "properties", "metadata")), problem, path=(*at, "properties", "metadata")
            )


def _value_validation(
    schema: _Schema, at: Path, *, skip_any_of: bool, first: bool = False
) -> Iterator[FieldError]:
    if not skip_any_of:
        for n, item in enumerate(schema.get("anyOf") or ()):
            yield from _nested(item, (*at, "anyOf", n))
    for n, item in enumerate(schema.get("allOf") or ()):
        yield from _nested(
            item, (*at, "allOf", n), skip_any_of=first and n == 0 and item.get("anyOf") == _INT_OR_STRING
        )
    for n, item in enumerate(schema.get("oneOf") or ()):
        yield from _nested(item, (*at, "oneOf", n))
    if schema.get("not") is not None:
        yield from _nested(schema["not"], (*at, "not"))
    if pattern := schema.get("pattern"):
        try:
            matcher(pattern)
        except SchemaRejected as error:
            problem = f"must be a valid regular expression, but isn't: {error}"
            yield invalid(_at((*at, "pattern")), pattern, problem, path=at)


def _nested(schema: _Schema, at: Path, *, skip_any_of: bool = False) -> Iterator[FieldError]:
    yield from _value_validation(schema, at, skip_any_of=skip_any_of)
    if isinstance(schema.get("items"), dict):
        yield from _nested(schema["items"], (*at, "items"))
    for name, item in (schema.get("properties") or {}).items():
        yield from _nested(item, (*at, "properties", name))
    for keyword, problem in _NESTED:
        if schema.get(keyword) or (keyword == "default" and schema.get(keyword) is not None):
            yield forbidden(_at((*at, keyword)), problem, path=at)
    if "metadata" in (schema.get("properties") or {}):
        field = _at((*at, "properties", "metadata"))
        yield forbidden(field, "must not be specified in a nested context", path=at)


def _completeness(nested: _Schema, schema: _Schema, at: Path, nested_at: Path) -> Iterator[FieldError]:
    """Fields in a junction must also be specified outside of it."""
    inner: list[tuple[_Schema, Path]] = []
    for keyword in ("allOf", "anyOf", "oneOf"):
        inner += [(item, (*nested_at, keyword, n)) for n, item in enumerate(nested.get(keyword) or ())]
    if nested.get("not") is not None:
        inner.append((nested["not"], (*nested_at, "not")))
    for item, where in inner:
        yield from _completeness(item, schema, at, where)
        if isinstance(item.get("items"), dict):
            known = schema.get("items")
            yield from _described(item["items"], known, (*at, "items"), (*where, "items"))
        for name, field in (item.get("properties") or {}).items():
            known = (schema.get("properties") or {}).get(name)
            yield from _described(field, known, (*at, "properties", name), (*where, "properties", name))


def _described(nested: _Schema, schema: Any, at: Path, nested_at: Path) -> Iterator[FieldError]:
    if not isinstance(schema, dict):
        # A placeholder for the path prefix, which the caller adds.
        yield required(_at(at), f"because it is defined in \0{_at(nested_at)}", path=nested_at)
        return
    wrapped = {"allOf": [nested]}
    for item in _completeness(wrapped, schema, at, nested_at):
        detail = item.detail.replace(f"{_at(nested_at)}.allOf[0]", _at(nested_at))
        yield required(item.field, detail, path=item.path)
