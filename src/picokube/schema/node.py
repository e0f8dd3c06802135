"""Parses a schema into a tree of typed nodes, and walks its keywords and field paths."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from picokube.schema.errors import Path, SchemaRejected, UnknownField
from picokube.schema.formats import checked_format

UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_KNOWN: Final = frozenset(
    {
        "id", "$schema", "$ref", "description", "type", "nullable", "format", "title", "default", "maximum",
        "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems",
        "uniqueItems", "multipleOf", "enum", "maxProperties", "minProperties", "required", "items", "allOf", "oneOf",
        "anyOf", "not", "properties", "additionalProperties", "patternProperties", "dependencies", "additionalItems",
        "definitions", "externalDocs", "example", "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-validations",
    }
)  # fmt: skip

MAX_DEPTH: Final = 64
"""Maximum nesting of a schema, which limits the recursion depth of every walk over an object."""
_SHAPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "type": str, "nullable": bool, "format": str, "pattern": str, "enum": list, "required": list,
    "multipleOf": (int, float), "minimum": (int, float), "maximum": (int, float),
    "exclusiveMinimum": bool, "exclusiveMaximum": bool,
    "minLength": int, "maxLength": int, "minItems": int, "maxItems": int, "minProperties": int, "maxProperties": int,
    "properties": dict, "items": dict, "additionalProperties": (dict, bool),
    "allOf": list, "anyOf": list, "oneOf": list, "not": dict,
    "x-kubernetes-int-or-string": bool, "x-kubernetes-preserve-unknown-fields": bool,
    "x-kubernetes-embedded-resource": bool, "x-kubernetes-list-type": str, "x-kubernetes-map-type": str,
    "x-kubernetes-list-map-keys": list, "x-kubernetes-validations": list,
}  # fmt: skip
_FIELD_STEP: Final = re.compile(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_MEANING: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "'": "'",
    "\\": "\\",
}


def is_readable(schema: Mapping[str, Any]) -> bool:
    """Whether neither the schema nor a nested schema uses unsupported keywords."""
    if any(schema.get(keyword) is not None for keyword in UNSUPPORTED):
        return False
    if isinstance(schema.get("items"), list) or schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return False
    return all(is_readable(item) for item, _ in subschemas(schema))


def unknown_keywords(schema: Mapping[str, Any], at: Path = ()) -> list[UnknownField]:
    """Keywords such as const, examples and $defs, which a server drops, or rejects in strict mode."""
    unknown = [UnknownField(path=(*at, keyword)) for keyword in schema if keyword not in _KNOWN]
    for inner, steps in subschemas(schema):
        unknown += unknown_keywords(inner, (*at, *steps))
    return unknown


def subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[Any, Path]]:
    """The schemas directly inside a schema, and their paths in it. Skips keywords whose value has the wrong type."""
    for name, item in _of_type(schema, "properties", dict).items():
        yield item, ("properties", name)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for n, item in enumerate(_of_type(schema, keyword, list)):
            yield item, (keyword, n)
    for keyword in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(keyword), dict):
            yield schema[keyword], (keyword,)


def _of_type(schema: Mapping[str, Any], keyword: str, kind: type) -> Any:
    value = schema.get(keyword)
    return value if isinstance(value, kind) else kind()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """An entry of x-kubernetes-validations."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""
    field_path: str = ""
    optional_old_self: bool = False


# Compared by identity, because nodes are cache keys and equal schemas at two paths are two nodes.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """A schema. `at` is its path in the schema document."""

    at: Path = ()
    type: str = ""
    types: tuple[str, ...] = ()
    """The allowed JSON types. Empty allows any."""
    nullable: bool = False
    format: str = ""
    default: Any = None
    enum: tuple[Any, ...] | None = None
    pattern: str = ""
    multiple_of: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    min_properties: int | None = None
    max_properties: int | None = None
    required: tuple[str, ...] = ()
    items: "Node | None" = None
    properties: Mapping[str, "Node"] = field(default_factory=dict)
    additional: "Node | None" = None
    has_additional: bool = False
    forbids_additional: bool = False
    all_of: tuple["Node", ...] = ()
    any_of: tuple["Node", ...] = ()
    one_of: tuple["Node", ...] = ()
    negated: "Node | None" = None
    int_or_string: bool = False
    preserves_unknown: bool = False
    embedded: bool = False
    list_type: str = ""
    list_map_keys: tuple[str, ...] = ()
    map_type: str = ""
    rules: tuple[Rule, ...] = ()

    @staticmethod
    def of(schema: Mapping[str, Any], *, as_written: bool = False) -> "Node":
        """Parse a schema. Raises SchemaRejected if a keyword has the wrong type.

        Formats that Kubernetes doesn't check are ignored, and int-or-string overrides the type. With `as_written`,
        neither is the case, which is how upstream validates the defaults of a schema.
        """
        return _read(schema, (), as_written=as_written)

    def child(self, name: str) -> "Node | None":
        """The node of the field `name`. None if there is none."""
        child = self.properties.get(name)
        return child if child is not None else self.additional

    def field_name(self, prefix: str, name: str) -> str:
        """The display name of the field `name` below `prefix`: spec.a, or spec[a] for a key of a map."""
        if name not in self.properties:
            return f"{prefix}[{name}]"
        return f"{prefix}.{name}" if prefix else name

    def children(self) -> Iterator["Node"]:
        """The nodes of nested values, without junctions."""
        yield from self.properties.values()
        if self.additional is not None:
            yield self.additional
        if self.items is not None:
            yield self.items

    def junctions(self) -> Iterator["Node"]:
        """The nodes of allOf, anyOf, oneOf and not, which describe the same value."""
        yield from (*self.all_of, *self.any_of, *self.one_of)
        if self.negated is not None:
            yield self.negated


Routes: TypeAlias = Mapping[Node, tuple[tuple[str, Node], ...]]
"""Nodes to visit for a task, each with its properties to visit."""


def routes_to(root: Node, is_target: Callable[[Node], bool]) -> Routes:
    """The routes from `root` to the matching nodes. The rest of an object can be skipped."""
    routes: dict[Node, tuple[tuple[str, Node], ...]] = {}

    def leads(node: Node) -> bool:
        below = [leads(child) for child in node.children()]
        if is_target(node) or any(below):
            routes[node] = tuple((name, child) for name, child in node.properties.items() if child in routes)
            return True
        return False

    leads(root)
    return routes


def mistyped_keywords(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The keywords of a schema whose values have the wrong JSON type, and the expected type."""
    for keyword, expected in _SHAPES.items():
        value = schema.get(keyword)
        if value is None:
            continue
        kinds = expected if isinstance(expected, tuple) else (expected,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            yield keyword, " or ".join(kind.__name__ for kind in kinds)


def _read(schema: Mapping[str, Any], at: Path, *, as_written: bool) -> Node:
    if not isinstance(schema, dict):
        raise SchemaRejected(f"a schema must be an object, found {type(schema).__name__} at {place(at)}")
    if len(at) > 2 * MAX_DEPTH:
        raise SchemaRejected(f"the schema nests deeper than {MAX_DEPTH} levels at {place(at[:8])}...")
    for keyword, expected in mistyped_keywords(schema):
        actual = type(schema[keyword]).__name__
        raise SchemaRejected(f"{keyword} must be {expected}, found {actual} at {place(at)}")
    additional = schema.get("additionalProperties")
    items = schema.get("items")
    negated = schema.get("not")
    enum = schema.get("enum")
    text_format = schema.get("format") or ""
    kind = schema.get("type") or ""
    either = bool(schema.get("x-kubernetes-int-or-string")) and not as_written
    return Node(
        at=at,
        type=kind,
        types=("integer", "string") if either else (kind,) if kind else (),
        nullable=bool(schema.get("nullable")),
        format=text_format if as_written else checked_format(text_format),
        default=schema.get("default"),
        enum=tuple(enum) if enum is not None else None,
        pattern=schema.get("pattern") or "",
        multiple_of=schema.get("multipleOf"),
        minimum=schema.get("minimum"),
        maximum=schema.get("maximum"),
        exclusive_minimum=bool(schema.get("exclusiveMinimum")),
        exclusive_maximum=bool(schema.get("exclusiveMaximum")),
        min_length=schema.get("minLength"),
        max_length=schema.get("maxLength"),
        min_items=schema.get("minItems"),
        max_items=schema.get("maxItems"),
        min_properties=schema.get("minProperties"),
        max_properties=schema.get("maxProperties"),
        required=_names(schema, "required", at),
        items=_read(items, (*at, "items"), as_written=as_written) if items is not None else None,
        properties={
            name: _read(item, (*at, "properties", name), as_written=as_written)
            for name, item in (schema.get("properties") or {}).items()
        },
        additional=_read(additional, (*at, "additionalProperties"), as_written=as_written)
        if isinstance(additional, dict)
        else None,
        has_additional=additional is not None,
        forbids_additional=additional is False,
        all_of=_several(schema, "allOf", at, as_written=as_written),
        any_of=_several(schema, "anyOf", at, as_written=as_written),
        one_of=_several(schema, "oneOf", at, as_written=as_written),
        negated=_read(negated, (*at, "not"), as_written=as_written) if negated is not None else None,
        int_or_string=bool(schema.get("x-kubernetes-int-or-string")),
        preserves_unknown=bool(schema.get("x-kubernetes-preserve-unknown-fields")),
        embedded=bool(schema.get("x-kubernetes-embedded-resource")),
        list_type=schema.get("x-kubernetes-list-type") or "",
        list_map_keys=_names(schema, "x-kubernetes-list-map-keys", at),
        map_type=schema.get("x-kubernetes-map-type") or "",
        rules=_rules(schema, at),
    )


def _several(schema: Mapping[str, Any], keyword: str, at: Path, *, as_written: bool) -> tuple[Node, ...]:
    return tuple(
        _read(item, (*at, keyword, n), as_written=as_written)
        for n, item in enumerate(schema.get(keyword) or ())
    )


def _names(schema: Mapping[str, Any], keyword: str, at: Path) -> tuple[str, ...]:
    names = schema.get(keyword) or ()
    if not all(isinstance(name, str) for name in names):
        raise SchemaRejected(f"{keyword} must hold strings only at {place(at)}")
    return tuple(names)


def _rules(schema: Mapping[str, Any], at: Path) -> tuple[Rule, ...]:
    rules = schema.get("x-kubernetes-validations") or ()
    texts = ("rule", "message", "messageExpression", "reason", "fieldPath")
    for rule in rules:
        if not isinstance(rule, dict) or not all(isinstance(rule.get(text) or "", str) for text in texts):
            raise SchemaRejected(f"x-kubernetes-validations must hold objects of strings at {place(at)}")
    return tuple(
        Rule(
            rule=rule.get("rule") or "",
            message=rule.get("message") or "",
            message_expression=rule.get("messageExpression") or "",
            reason=rule.get("reason") or "",
            field_path=rule.get("fieldPath") or "",
            optional_old_self=rule.get("optionalOldSelf") is True,
        )
        for rule in rules
    )


def place(at: Path) -> str:
    """The path of a schema in the notation of Kubernetes: properties[spec].items.allOf[0]."""
    text = ""
    named = False
    for step in at:
        text += f"[{step}]" if named or isinstance(step, int) else f".{step}"
        named = not named and step in {"properties", "definitions", "dependencies"}
    return text.removeprefix(".") or "the root"


@dataclass(frozen=True, slots=True)
class FieldPath:
    text: str
    path: Path


def field_path(source: str, node: Node) -> FieldPath | None:
    """The path in the notation of Kubernetes. None if it isn't in the schema of `node`."""
    text, path, at = "", [], 0
    current: Node | None = node
    while at < len(source):
        match = _FIELD_STEP.match(source, at)
        if match is None or current is None:
            return None
        at = match.end()
        name = match[1] if match[1] is not None else _unescaped(match[2])
        if name is None:
            return None
        if current.properties:
            current = current.properties.get(name)
            text += f".{name}"
            if current is None:
                return None
        elif current.has_additional:
            current = current.additional
            text += f"[{name}]"
        else:
            return None
        path.append(name)
    return FieldPath(text.removeprefix("."), tuple(path)) if path else None


def _unescaped(text: str) -> str | None:
    if any(match not in _MEANING for match in _ESCAPE.findall(text)):
        return None
    return _ESCAPE.sub(lambda match: _MEANING[match[1]], text)
