"""Walks the API types: which models a kind is made of, and which keys of a manifest they do not know."""

from collections.abc import Iterator
from typing import Any, get_args

from pydantic.fields import FieldInfo

from jangar.api.kind import Kind
from jangar.api.meta import ApiModel

KEEPS_UNKNOWN = "x-kubernetes-preserve-unknown-fields"


def models_in(annotation: Any) -> Iterator[type[ApiModel]]:
    """The models that an annotation such as `list[Step] | None` names."""
    if isinstance(annotation, type) and issubclass(annotation, ApiModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)


def fields_of(kind: Kind) -> Iterator[tuple[str, type[ApiModel], FieldInfo]]:
    """Every field of a kind, however deep, with its path and the model that declares it."""
    yield from _fields(f"{kind.name}.spec", kind.spec)
    yield from _fields(f"{kind.name}.status", kind.status)


def _fields(path: str, model: type[ApiModel]) -> Iterator[tuple[str, type[ApiModel], FieldInfo]]:
    for field in model.model_fields.values():
        here = f"{path}.{field.alias}"
        yield here, model, field
        for inner in models_in(field.annotation):
            yield from _fields(here, inner)


def is_open(extra: Any) -> bool:
    return isinstance(extra, dict) and bool(extra.get(KEEPS_UNKNOWN))


def unknown_keys(model: type[ApiModel], value: dict[str, Any], path: str = "") -> list[str]:
    """Paths of the keys in `value` that the model would drop; what is declared open is passed over."""
    by_alias = {field.alias: field for field in model.model_fields.values()}
    found: list[str] = []
    for key, item in value.items():
        here = f"{path}.{key}"
        field = by_alias.get(key)
        if field is None:
            found += [] if is_open(model.model_config.get("json_schema_extra")) else [here]
        elif not is_open(field.json_schema_extra):
            found += _unknown_in(field.annotation, item, here)
    return found


def _unknown_in(annotation: Any, item: Any, path: str) -> list[str]:
    inner = next(models_in(annotation), None)
    if inner is None:
        return []
    if isinstance(item, list):
        return [p for n, entry in enumerate(item) for p in unknown_keys(inner, entry, f"{path}[{n}]")]
    return unknown_keys(inner, item, path)
