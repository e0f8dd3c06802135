"""What this version knows of a status, and how it writes one without losing what another version added (ST-1).

Old and new versions alternate during a rollout. A field that the types of this one do not declare is another's, also
within an object or an item of a list; it stays as long as what it is a field of stays.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_origin

from pydantic.alias_generators import to_camel

from jangar.api.meta import ApiModel, JsonObject

ITEM_KEYS = ("type", "name", "attempt", "index")
"""By the first of these that it has, an item of a list is found again."""
IDENTITY = ("name", "uid")
"""An object that says another one of these is about something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The fields that a type declares; of those that are objects, or lists of objects, also theirs."""

    fields: frozenset[str]
    within: Mapping[str, "Shape"]
    key: str | None


@cache
def shape_of(model: type[ApiModel]) -> Shape:
    """The shape of a type; a field that is open has none: it belongs to its writer as a whole."""
    names = {info.alias or to_camel(name): info.annotation for name, info in model.model_fields.items()}
    return Shape(
        fields=frozenset(names),
        within={name: shape_of(item) for name, annotation in names.items() for item in _models(annotation)},
        key=next((item_key for item_key in ITEM_KEYS if item_key in names), None),
    )


def _models(annotation: Any) -> Iterator[type[ApiModel]]:
    """The type that a field holds, alone or in a list. The keys of a map are its writer's: none is unknown."""
    if get_origin(annotation) is dict:
        return
    if isinstance(annotation, type) and issubclass(annotation, ApiModel):
        yield annotation
    for arg in get_args(annotation):
        yield from _models(arg)


def keep_unknown(
    old: Mapping[str, Any], new: Mapping[str, Any], *, known: frozenset[str], shape: Shape
) -> JsonObject:
    """The new status and, of the old one, what its writer does not know: fields, and fields within those it knows.

    `known` are the fields that the writer accounts for; they are not all that the shape has.
    """
    kept = {name: value for name, value in old.items() if name not in known}
    for name, value in new.items():
        if value is not None:
            inner = shape.within.get(name)
            kept[name] = value if inner is None else _kept(old.get(name), value, inner)
    return kept


def _kept(old: Any, new: Any, shape: Shape) -> Any:
    """`new` with what is unknown in `old`; `new` itself where nothing is. Looks only into what is not equal."""
    if old == new:
        return new
    match old, new:
        case Mapping(), Mapping():
            return _kept_in_object(old, new, shape)
        case list(), list() if shape.key is not None:
            return _kept_in_items(old, new, shape, shape.key)
        case _:
            return new


def _kept_in_object(old: Mapping[str, Any], new: Mapping[str, Any], shape: Shape) -> Mapping[str, Any]:
    if any(old.get(item) and new.get(item) and old[item] != new[item] for item in IDENTITY):
        return new
    kept = {name: value for name, value in old.items() if name not in shape.fields and name not in new}
    for name, inner in shape.within.items():
        if name in old and name in new:
            value = _kept(old[name], new[name], inner)
            if value is not new[name]:
                kept[name] = value
    return {**new, **kept} if kept else new


def _kept_in_items(old: Sequence[Any], new: Sequence[Any], shape: Shape, key: str) -> Sequence[Any]:
    before = {item.get(key): item for item in old}
    kept = [_kept(before.get(item.get(key)), item, shape) for item in new]
    return kept if any(a is not b for a, b in zip(kept, new, strict=True)) else new
