"""What objects of built-in kinds always show: Go structs have fields that cannot be left out. Knows no managers."""

from typing import Any

from picokube.apiserver.apply.merge_schema import DEDUCED, MergeType


def filled(kind: MergeType, value: Any) -> Any:
    """A value with the fields that its structs always show."""
    if type(value) is dict and kind.map is not None:
        fields, other = kind.map.fields, kind.map.element or DEDUCED
        members = kind.map.zeros | value if kind.map.zeros else value
        return {name: filled(fields.get(name) or other, item) for name, item in members.items()}
    if type(value) is list and kind.list is not None and kind.list.element.map is not None:
        return [filled(kind.list.element, item) for item in value]
    return value


def without_null_fields(kind: MergeType, value: Any) -> Any:
    """A value without the fields of its structs that are null, which is what leaving them out means."""
    if type(value) is dict and kind.map is not None:
        fields, other = kind.map.fields, kind.map.element or DEDUCED
        return {
            name: without_null_fields(fields.get(name) or other, item)
            for name, item in value.items()
            if item is not None or not kind.map.is_struct
        }
    if type(value) is list and kind.list is not None and kind.list.element.map is not None:
        return [without_null_fields(kind.list.element, item) for item in value]
    return value
