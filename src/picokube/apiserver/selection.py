"""Which objects of a kind a request means: by labels and by fields. Parsed once, asked for each object."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from picokube.apiserver.messages import Request
from picokube.apiserver.resources import JsonObject, ResourceType
from picokube.apiserver.selectors import (
    FieldSelector,
    LabelSelector,
    matches_fields,
    matches_labels,
    parse_fields,
    parse_labels,
)
from picokube.apiserver.storage.store import Stored

_NOT_SUPPORTED = "field label not supported: {}".format
_METADATA_FIELDS = ("metadata.name", "metadata.namespace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Both selectors of a request."""

    labels: LabelSelector = ()
    fields: FieldSelector = ()
    converted: Callable[[JsonObject], JsonObject] | None = None
    """Where versions of a kind name their fields otherwise: how to read what another version stored."""

    @property
    def is_everything(self) -> bool:
        return not self.labels and not self.fields

    @property
    def name(self) -> str | None:
        """The one name that can match, if the selector says so."""
        names = [term.value for term in self.fields if term.field == "metadata.name" and not term.negated]
        return names[0] if names else None

    def matches(self, stored: Stored) -> bool:
        if self.labels and not matches_labels(self.labels, stored.labels):
            return False
        return not self.fields or matches_fields(self.fields, _Fields(stored, self.converted).value)


class _Fields:
    """Field values of an object; parsed only if a field other than its name is asked for."""

    def __init__(self, stored: Stored, converted: Callable[[JsonObject], JsonObject] | None) -> None:
        self._stored = stored
        self._converted = converted
        self._object: JsonObject | None = None

    def value(self, field: str) -> str:
        if field == "metadata.name":
            return self._stored.key.name
        if field == "metadata.namespace":
            return self._stored.key.namespace
        if self._object is None:
            found: JsonObject = orjson.loads(self._stored.data)
            self._object = self._converted(found) if self._converted else found
        return field_text(self._object, field)


def field_text(obj: Mapping[str, Any], field: str) -> str:
    """A field as a selector compares it: missing is empty."""
    value: Any = obj
    for part in field.lstrip(".").split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
        if value is None:
            return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def selection_of(request: Request, resource: ResourceType) -> Selection:
    """Raises a bad request for selectors that cannot be read, or that the kind does not have."""
    known = {
        *_METADATA_FIELDS,
        *(selectable_field.lstrip(".") for selectable_field in resource.selectable_fields),
    }
    return Selection(
        converted=getattr(resource.strategy, "converted", None),
        labels=parse_labels(request.parameter("labelSelector")),
        fields=parse_fields(
            request.parameter("fieldSelector"),
            is_known=known.__contains__,
            refusal=_only_metadata
            if not (resource.selectable_fields or resource.is_custom)
            else _NOT_SUPPORTED,
        ),
    )


def _only_metadata(field: str) -> str:
    return f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
