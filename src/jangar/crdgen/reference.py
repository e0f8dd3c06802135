"""The reference pages in Markdown: all kinds with their fields, and what is not built. Writes nothing.

Objects are listed flat, with dotted paths. An object that is also the spec of a kind is linked instead of listed again,
and one that occurs twice within a kind is listed where it occurs first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, get_args

from pydantic import BaseModel

from jangar.api.kind import CATEGORY, VERSION, Column, Kind
from jangar.api.kinds import KINDS
from jangar.api.meta import Condition, JsonObject
from jangar.api.not_built import NOT_BUILT
from jangar.crdgen.crd import spec_schema
from jangar.crdgen.structural import INT_OR_STRING, RULES, structural_schema

_OPEN: Final = "x-kubernetes-preserve-unknown-fields"
_BOUNDS: Final = (
    ("minLength", "maxLength", "characters"),
    ("minItems", "maxItems", "items"),
    ("minProperties", "maxProperties", "keys"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One field: `path` is dotted, with `[]` for each item of a list and `.*` for each value of a map.

    `like` says where the fields of an object are listed if they do not follow.
    """

    path: str
    type: str
    like: str
    required: bool
    constraints: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModels:
    """Models that are listed already, and where: `elsewhere` as a link, `here` as a path."""

    elsewhere: Mapping[type[BaseModel], str] = field(default_factory=dict)
    here: dict[type[BaseModel], str] = field(default_factory=dict)


def rows(model: type[BaseModel], schema: JsonObject, at: str, listed: ListedModels) -> Iterator[Row]:
    """A row for each field of `model` and, once, of each model in it; `listed` records what was listed."""
    required = schema.get("required", ())
    for name, info in model.model_fields.items():
        key = info.alias or name
        node = schema["properties"][key]
        inner = _model_in(info.annotation)
        like = "" if inner is None else listed.elsewhere.get(inner) or listed.here.get(inner, "")
        path = f"{at}.{key}"
        yield Row(
            path=path,
            type=type_of(node),
            like=like,
            required=key in required,
            constraints=tuple(constraints(node)),
            description=node.get("description", ""),
        )
        if inner is not None and not like:
            below, inside = _innermost(node, path)
            listed.here[inner] = inside
            yield from rows(inner, below, inside, listed)


def rules(schema: JsonObject, at: str) -> Iterator[tuple[str, str]]:
    """Path and message of every CEL rule in `schema`; a message that several rules share comes once."""
    yield from dict.fromkeys((at, item["message"]) for item in schema.get(RULES, ()))
    for name, node in schema.get("properties", {}).items():
        yield from rules(node, f"{at}.{name}")
    if "items" in schema:
        yield from rules(schema["items"], f"{at}[]")
    if "additionalProperties" in schema:
        yield from rules(schema["additionalProperties"], f"{at}.*")


def type_of(node: JsonObject) -> str:
    """The type in words: `list of string`, `integer or string`, `date-time`."""
    if INT_OR_STRING in node:
        return "integer or string"
    match node.get("type"):
        case "array":
            return f"list of {type_of(node['items'])}"
        case "object" if "additionalProperties" in node:
            return f"map of {type_of(node['additionalProperties'])}"
        case "object" if _OPEN in node and "properties" not in node:
            return "any object"
        case "string" if "format" in node:
            return str(node["format"])
        case None:
            return "any value"
        case name:
            return str(name)


def constraints(node: JsonObject) -> Iterator[str]:
    """What a value must satisfy besides its type, in words; for a list also what its items must."""
    if "enum" in node:
        yield "one of " + ", ".join(f"`{value}`" for value in node["enum"])
    yield from _range(node)
    for least, most, unit in _BOUNDS:
        yield from _bounds(node.get(least), node.get(most), unit)
    if "pattern" in node:
        yield f"matches `{node['pattern']}`"
    if "default" in node:
        yield f"default `{node['default']}`"
    if keys := node.get("x-kubernetes-list-map-keys"):
        yield "unique " + " and ".join(f"`{key}`" for key in keys)
    if node.get("x-kubernetes-list-type") == "set":
        yield "no duplicates"
    if _OPEN in node and "properties" in node:
        yield "other fields are kept"
    for inner in (node.get("items"), node.get("additionalProperties")):
        if inner is not None and inner.get("type") not in {"object", "array"}:
            yield from (f"each {text}" for text in constraints(inner))


def _range(node: JsonObject) -> Iterator[str]:
    if "minimum" in node:
        yield f"{'>' if node.get('exclusiveMinimum') else '>='} {node['minimum']}"
    if "maximum" in node:
        yield f"{'<' if node.get('exclusiveMaximum') else '<='} {node['maximum']}"


def _bounds(least: int | None, most: int | None, unit: str) -> Iterator[str]:
    match least, most:
        case None | 0, None:
            return
        case None | 0, int():
            yield f"at most {most:,} {unit}"
        case 1, None:
            yield "not empty"
        case int(), None:
            yield f"at least {least:,} {unit}"
        case _:
            yield f"{least:,} to {most:,} {unit}"


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model in an annotation such as `list[Step] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part)) is not None), None)


def _innermost(node: JsonObject, path: str) -> tuple[JsonObject, str]:
    """The object inside lists and maps, and its path."""
    if "items" in node:
        return _innermost(node["items"], f"{path}[]")
    if "additionalProperties" in node:
        return _innermost(node["additionalProperties"], f"{path}.*")
    return node, path


_INTRODUCTION: Final = f"""\
<!-- Generated by make generate from src/jangar/api; do not edit. -->

# API reference

Every kind, every field. All kinds are namespaced, have the version `{VERSION}` and a status subresource, and
belong to the category `{CATEGORY}`: `kubectl get {CATEGORY}` lists them all. `kubectl explain` shows the same
texts.

How to read a path: `[]` stands for each item of a list, `.*` for each value of a map. A field that is not
required may be left out; `null` means the same. Fields that are not listed here are dropped by the API
server, except inside objects that say otherwise. Nothing has a default on the API server unless its line says
so: a default in a description is what the controller assumes.
"""
_CONDITION: Final = "Condition"
_NOT_BUILT_INTRODUCTION: Final = """\
<!-- Generated by make generate from src/jangar/api/not_built.py; do not edit. -->
# Not built yet

The API server accepts these, so that manifests of other systems can be applied, and nothing acts on them. `jangar lint`
refuses them. A controller sets `Ready=False` with reason `NotBuilt` on objects that use them. An Orchestration with
such a step is `Invalid` (`UnsupportedStep`): its runs fail before their first step starts.
"""


def reference(kinds: Sequence[Kind] = KINDS) -> str:
    """The page for `kinds`, in their order."""
    parts = [
        _INTRODUCTION,
        _contents(kinds),
        *(_section(kind, kinds) for kind in kinds),
        _condition_section(),
    ]
    return "\n".join(parts)


def _contents(kinds: Sequence[Kind]) -> str:
    lines = ["## Contents", ""]
    for group, members in groupby(kinds, key=lambda kind: kind.group):
        lines += [f"- `{group}`"]
        lines += [f"  - [{kind.name}](#{_anchor(kind.name)}): {_text(kind.summary)}" for kind in members]
    lines += [f"- [{_CONDITION}](#{_anchor(_CONDITION)}), part of every status", ""]
    return "\n".join(lines)


def _section(kind: Kind, kinds: Sequence[Kind]) -> str:
    listed = ListedModels(elsewhere=_listed_elsewhere(kind, kinds))
    parts = [
        f"## {kind.name}\n",
        f"{_text(kind.summary)}\n",
        _facts(kind),
        *([_columns(kind.columns)] if kind.columns else []),
        _fields(kind, "spec", kind.spec, listed),
        _fields(kind, "status", kind.status, listed),
    ]
    return "\n".join(parts)


def _listed_elsewhere(kind: Kind, kinds: Iterable[Kind]) -> dict[type[BaseModel], str]:
    specs: dict[type[BaseModel], str] = {
        other.spec: f"[{other.name} spec](#{_anchor(other.name)}-spec)"
        for other in kinds
        if other is not kind
    }
    return specs | {Condition: f"[{_CONDITION}](#{_anchor(_CONDITION)})"}


def _facts(kind: Kind) -> str:
    names = ", ".join(f"`{name}`" for name in (kind.plural, kind.singular, *kind.short_names))
    lines = [f"- apiVersion: `{kind.api_version}`", f"- kind: `{kind.name}`", f"- names for kubectl: {names}"]
    if kind.selectable:
        fields = ", ".join(f"`{path.removeprefix('.')}`" for path in kind.selectable)
        lines.append(f"- field selectors: {fields}")
    if not kind.spec_required:
        lines.append("- spec may be left out")
    return "\n".join([*lines, ""])


def _columns(columns: Iterable[Column]) -> str:
    return _table(
        ("Column", "Shown", "Field", "Meaning"),
        (
            (
                column.name,
                "`-o wide`" if column.priority else "always",
                f"`{column.path}`",
                _text(column.description),
            )
            for column in columns
        ),
    )


def _fields(kind: Kind, part: str, model: type[BaseModel], listed: ListedModels) -> str:
    schema = spec_schema(kind) if part == "spec" else structural_schema(model)
    return "\n".join(
        [
            f"### {kind.name} {part}\n",
            f"{_text(schema.get('description', ''))}\n",
            _table(
                ("Field", "Type", "Required", "Constraints", "Description"),
                (_cells(row) for row in rows(model, schema, part, listed)),
            ),
            *_rule_list(rules(schema, part)),
        ]
    )


def _condition_section() -> str:
    schema = structural_schema(Condition)
    return "\n".join(
        [
            f"## {_CONDITION}\n",
            f"{_text(schema['description'])}\n",
            _table(
                ("Field", "Type", "Required", "Constraints", "Description"),
                (_cells(row) for row in rows(Condition, schema, "status.conditions[]", ListedModels())),
            ).rstrip("\n"),
            "",
        ]
    )


def _cells(row: Row) -> tuple[str, ...]:
    like = f", as {row.like if row.like.startswith('[') else f'`{row.like}`'}" if row.like else ""
    constraints = "; ".join(row.constraints)
    return (
        f"`{row.path}`",
        row.type + like,
        "yes" if row.required else "",
        _text(constraints),
        _text(row.description),
    )


def _rule_list(rules_found: Iterable[tuple[str, str]]) -> Iterator[str]:
    lines = [f"- `{path}`: {_text(message)}" for path, message in rules_found]
    if lines:
        yield "\n".join(["Rules that the API server checks:", "", *lines, ""])


def _table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _text(text: str) -> str:
    """Text for a table cell in Markdown, escaped outside of code."""
    line = " ".join(text.split()).replace("|", r"\|")
    quoted = line.split("`")
    return "`".join(
        part if inside_code else part.replace("<", r"\<").replace("*", r"\*")
        for part, inside_code in zip(quoted, [n % 2 == 1 for n in range(len(quoted))], strict=True)
    )


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def not_built_page() -> str:
    """The page that lists everything that is not built."""
    lines = [_NOT_BUILT_INTRODUCTION, "| kind | field | value | instead |", "|---|---|---|---|"]
    for row in NOT_BUILT:
        field = f"`spec.{row.field}`" if row.field else "all"
        value = f"`{row.value}`" if row.value else "any"
        lines.append(f"| {row.kind} | {field} | {value} | {row.instead} |")
    return "\n".join(lines) + "\n"
