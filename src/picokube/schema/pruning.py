"""Dropping fields that no schema names, and telling which. Knows a schema tree and JSON; validates nothing."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from picokube.schema.errors import Path
from picokube.schema.node import Node
from picokube.schema.object_meta import OBJECT_META

_META: Final = frozenset({"apiVersion", "kind", "metadata"})
_EMPTY: Final[tuple[object, ...]] = (None, "", 0, False, [], {})
_NONE: Final[dict[str, Any]] = {}


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


@dataclass(slots=True)
class _Found:
    """What a walk came across. Paths are written from their end, and only where there is something to write."""

    unknown: list[list[str | int]] = field(default_factory=list)
    nulls: bool = False

    def inside(self, step: str | int, since: int) -> None:
        for path in self.unknown[since:]:
            path.append(step)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    kept: dict[str, Any]
    unknown: list[UnknownField]
    has_nulls: bool


def pruned(obj: Mapping[str, Any], node: Node, known: Mapping[str, Any] | None = None) -> Pruned:
    """A copy of the resource `obj` without unknown fields, and those fields, sorted.

    apiVersion, kind and metadata stay as they are. Values below x-kubernetes-preserve-unknown-fields that no
    schema describes are not copied but shared; and so is what is the very same, at its place, in a `known` resource
    that was pruned before: there is nothing in it to drop.
    """
    found = _Found()
    kept = _object(obj, node, found, known, embedded=True, root=True)
    # A server is silent about metadata it drops from the root; there is none here to drop.
    fields = [UnknownField(path=tuple(reversed(path))) for path in found.unknown]
    fields.sort(key=lambda each: each.field)
    return Pruned(kept=kept, unknown=fields, has_nulls=found.nulls)


def pruned_value(value: Any, node: Node) -> Any:
    """A copy of `value`, any part of a resource, without unknown fields."""
    return _value(value, node, _Found())


def _value(value: Any, node: Node | None, found: _Found, known: Any = None) -> Any:
    if type(value) is dict:
        return _object(value, node, found, known, embedded=node is not None and node.embedded)
    if type(value) is not list:
        found.nulls = found.nulls or value is None
        return value
    if node is None:
        return _without_schema(value, found)
    if node.preserves_unknown:
        return value if node.items is None else _members(value, node.items, found, _kept, known)
    if not any(type(each) is dict or type(each) is list for each in value):
        return value.copy()
    return _members(value, node.items, found, _value, known)


def _members(values: list[Any], items: Node | None, found: _Found, walk: "_Walk", known: Any) -> list[Any]:
    kept = []
    was = known if type(known) is list else ()
    shared = len(was)
    for n, each in enumerate(values):
        before = was[n] if n < shared else None
        if each is before and each is not None:
            kept.append(each)
            continue
        since = len(found.unknown)
        kept.append(walk(each, items, found, before))
        if len(found.unknown) > since:
            found.inside(n, since)
    return kept


_Walk = Callable[[Any, Node | None, _Found, Any], Any]


def _object(
    value: Mapping[str, Any],
    node: Node | None,
    found: _Found,
    known: Any = None,
    *,
    embedded: bool,
    root: bool = False,
) -> dict[str, Any]:
    if node is None:
        found.unknown.extend([name] for name in value)
        return {}
    kept: dict[str, Any] = {}
    properties, additional, preserve = node.properties, node.has_additional, node.preserves_unknown
    was = known if type(known) is dict else _NONE
    for name, each in value.items():
        child = properties.get(name)
        if embedded and name in _META:
            kept[name] = each if name != "metadata" else copied(each) if root else _metadata(each, found)
        elif child is not None or additional:
            kind = type(each)
            if kind is dict or kind is list:
                before = was.get(name)
                if each is before:
                    kept[name] = each
                    continue
                since = len(found.unknown)
                kept[name] = _value(each, child if child is not None else node.additional, found, before)
                if len(found.unknown) > since:
                    found.inside(name, since)
            else:
                found.nulls = found.nulls or each is None
                kept[name] = each
        elif preserve:
            kept[name] = each
        else:
            found.unknown.append([name])
    return kept


def _metadata(value: Any, found: _Found) -> Any:
    """Metadata of a resource inside a resource: known fields only, and none of them empty."""
    if type(value) is not dict:
        return copied(value)
    since = len(found.unknown)
    kept = _object(value, OBJECT_META, found, embedded=False)
    found.inside("metadata", since)
    return {name: each for name, each in kept.items() if each not in _EMPTY}


def _kept(value: Any, node: Node | None, found: _Found, known: Any = None) -> Any:
    """Below a preserving list: like pruning, except that what no schema names stays."""
    if node is None or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        return _members(value, node.items, found, _kept, known)
    return _object(value, replace(node, preserves_unknown=True), found, known, embedded=node.embedded)


def _without_schema(values: list[Any], found: _Found) -> list[Any]:
    """Lists and scalars stay, objects lose every field. However deep: it works on a list of what is left to do."""
    root = values.copy()
    left: list[tuple[list[Any], _Link]] = [(root, None)]
    while left:
        kept, link = left.pop()
        for n, each in enumerate(kept):
            if isinstance(each, dict):
                kept[n] = {}
                found.unknown.extend([name, n, *_followed(link)] for name in each)
            elif isinstance(each, list):
                kept[n] = each.copy()
                left.append((kept[n], (n, link)))
    return root


_Link = tuple[int, Any] | None


def _followed(link: "_Link") -> Iterator[int]:
    while link is not None:
        n, link = link
        yield n


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
