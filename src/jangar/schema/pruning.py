"""Dropping fields that no schema names, and telling which. Knows a schema tree and JSON; validates nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from jangar.schema.errors import Path
from jangar.schema.node import Node

_META: Final = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownField:
    """A field that was dropped because the schema does not name it."""

    path: Path

    @property
    def field(self) -> str:
        """The field in the words of fieldValidation=Strict: spec.steps[0].foo."""
        return "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path
        ).removeprefix(".")

    @property
    def message(self) -> str:
        return f'unknown field "{self.field}"'


def pruned(obj: Mapping[str, Any], node: Node) -> tuple[dict[str, Any], list[UnknownField]]:
    """A copy of the resource `obj` without unknown fields, and those fields, sorted.

    apiVersion, kind and metadata stay as they are. Values below x-kubernetes-preserve-unknown-fields that no
    schema describes are not copied but shared.
    """
    unknown: list[Path] = []
    kept = _object(obj, node, (), unknown, embedded=True)
    fields = [UnknownField(path=path) for path in unknown]
    return kept, sorted(fields, key=lambda each: each.field) if len(fields) > 1 else fields


def pruned_value(value: Any, node: Node) -> Any:
    """A copy of `value`, any part of a resource, without unknown fields."""
    return _value(value, node, (), [])


def _value(value: Any, node: Node | None, at: Path, unknown: list[Path]) -> Any:
    if type(value) is dict:
        return _object(value, node, at, unknown, embedded=node is not None and node.embedded)
    if type(value) is list:
        items = node.items if node is not None else None
        if node is not None and node.preserves_unknown and items is None:
            return value
        if not value or (type(value[0]) not in {dict, list} and not _has_containers(value)):
            return value.copy()
        if node is not None and node.preserves_unknown:
            return [_kept(each, items, (*at, n), unknown) for n, each in enumerate(value)]
        return [_value(each, items, (*at, n), unknown) for n, each in enumerate(value)]
    return value


def _has_containers(values: list[Any]) -> bool:
    return any(type(each) is dict or type(each) is list for each in values)


def _object(
    value: Mapping[str, Any], node: Node | None, at: Path, unknown: list[Path], *, embedded: bool
) -> dict[str, Any]:
    if node is None:
        unknown.extend((*at, name) for name in value)
        return {}
    kept: dict[str, Any] = {}
    properties, additional, preserve = node.properties, node.has_additional, node.preserves_unknown
    for name, each in value.items():
        if embedded and name in _META:
            kept[name] = copied(each) if name == "metadata" else each
        elif (found := properties.get(name)) is not None:
            kind = type(each)
            kept[name] = _value(each, found, (*at, name), unknown) if kind is dict or kind is list else each
        elif additional:
            kept[name] = _value(each, node.additional, (*at, name), unknown)
        elif preserve:
            kept[name] = each
        elif at or name not in _META:
            unknown.append((*at, name))
    return kept


def _kept(value: Any, node: Node | None, at: Path, unknown: list[Path]) -> Any:
    """Below a preserving list: like pruning, except that what no schema names stays."""
    if node is None or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        return [_kept(each, node.items, (*at, n), unknown) for n, each in enumerate(value)]
    kept: dict[str, Any] = {}
    for name, each in value.items():
        if node.embedded and name in _META:
            kept[name] = each
        elif name in node.properties:
            kept[name] = _value(each, node.properties[name], (*at, name), unknown)
        elif node.has_additional:
            kept[name] = _value(each, node.additional, (*at, name), unknown)
        else:
            kept[name] = each
    return kept


def copied(value: Any) -> Any:
    """A deep copy of plain JSON, however deep: it works on a list of what is left to do."""
    if not isinstance(value, dict | list):
        return value
    root: dict[str, Any] | list[Any] = value.copy()
    left: list[Any] = [root]
    while left:
        each = left.pop()
        for key, inner in each.items() if isinstance(each, dict) else enumerate(each):
            if isinstance(inner, dict | list):
                each[key] = inner.copy()
                left.append(each[key])
    return root
