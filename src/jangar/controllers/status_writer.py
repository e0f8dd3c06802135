"""The only writer of status: a JSON patch of the differences, guarded by uid and resourceVersion; no write without any.

Fields that this version does not know are kept: old and new versions of a controller alternate during a rollout.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_origin

from pydantic.alias_generators import to_camel

from jangar.api.meta import ApiModel, JsonObject
from jangar.controllers.resources import kind_of
from jangar.domain.status_contract import needs_write
from kubekit.cache.informer import Informer
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client, PatchKind
from kubekit.client.resource import Resource

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


Operation = dict[str, Any]


def difference(old: Any, new: Any, path: str = "") -> Iterator[Operation]:
    """Operations that turn `old` into `new`. Lists of one length are compared item by item, others replaced.

    What Python calls equal is left as it is: `true` for 1, which no field of a status mixes.
    """
    if old == new:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        yield from _of_objects(old, new, path)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from difference(before, after, f"{path}/{index}")
    else:
        yield {"op": "replace", "path": path, "value": new}


def _of_objects(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[Operation]:
    for name, before in old.items():
        place = f"{path}/{_escaped(name)}"
        if name in new:
            yield from difference(before, new[name], place)
        else:
            yield {"op": "remove", "path": place}
    for name, after in new.items():
        if name not in old:
            yield {"op": "add", "path": f"{path}/{_escaped(name)}", "value": after}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


class StatusWriter:
    """Writes the status of objects of any kind."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def write(
        self, informer: Informer, cached: Cached, status: Mapping[str, Any], *, known: frozenset[str]
    ) -> Cached:
        """The object with this status; the same object if there is nothing to write.

        Raises Conflict if the object is not the version, or not the object, that the status was decided for.
        """
        before = cached.view.get("status")
        after = keep_unknown(before or {}, status, known=known, shape=_shape(informer.resource))
        if not needs_write(before or {}, after):
            return cached
        answer = await self._client.patch(
            informer.resource,
            cached.name,
            cached.namespace,
            [*guards(cached), *_changes(before, after)],
            kind=PatchKind.JSON,
            subresource="status",
        )
        return informer.cache.record_write(answer)


def guards(cached: Cached) -> list[Operation]:
    """JSON patch operations that conflict unless the object has this uid and resourceVersion."""
    return [
        {"op": "replace", "path": "/metadata/uid", "value": cached.uid},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": cached.resource_version},
    ]


@cache
def _shape(resource: Resource) -> Shape:
    return shape_of(kind_of(resource).status)


def _changes(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> list[Operation]:
    if before is None:
        return [{"op": "add", "path": "/status", "value": dict(after)}]
    return list(difference(before, after, "/status"))
