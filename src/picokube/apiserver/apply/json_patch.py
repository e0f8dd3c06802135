"""JSON patch (RFC 6902) and JSON merge patch (RFC 7386), as the libraries of Kubernetes implement them.

A replace may add, a copy of a missing value is null, and list indexes may count from the end.

JsonPatchError       the patch cannot be applied
├─ MalformedPatch    it is not a list of operations
└─ TooManyOperations
"""

import re
from collections.abc import Callable
from typing import Any

import orjson

from picokube.apiserver.protocol.body import json_kind


def merge_patch(target: Any, patch: Any) -> Any:
    """The target with the patch laid over it. Both stay as they are; the result shares parts with the target only."""
    if not isinstance(patch, dict):
        return _copied(patch) if isinstance(target, dict) else without_nulls(patch)
    if not isinstance(target, dict):
        return without_nulls(patch)
    merged = target.copy()
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif (found := merged.get(name)) is None:
            merged[name] = without_nulls(value)
        else:
            merged[name] = merge_patch(found, value)
    return merged


def without_nulls(value: Any) -> Any:
    """A copy in which no object, however deep, has a null member. Nulls that are list items stay."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def _copied(value: Any) -> Any:
    return orjson.loads(orjson.dumps(value)) if isinstance(value, dict | list) else value


MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024
"""What copy operations may add to an object together."""

_INDEX = re.compile(r"[+-]?[0-9]{1,18}")


class JsonPatchError(Exception):
    """The patch cannot be applied: a path is not there, a test failed, or an operation makes no sense."""


class MalformedPatch(JsonPatchError):
    """The patch is not a list of operations at all."""


class TooManyOperations(JsonPatchError):
    """The patch is longer than the server allows."""


def json_patch(target: Any, operations: list[Any]) -> Any:
    """The target after all operations, in order. Neither is changed; what no operation touches is shared."""
    if len(operations) > MAX_OPERATIONS:
        raise TooManyOperations(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    document = _Document(target)
    for operation in operations:
        if not isinstance(operation, dict):
            raise MalformedPatch(
                f"json: cannot unmarshal {json_kind(operation)} into Go value of type jsonpatch.Operation"
            )
        kind = operation.get("op")
        perform = _OPERATIONS.get(kind) if isinstance(kind, str) else None
        if perform is None:
            raise JsonPatchError(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")
        perform(document, operation)
    return document.root


class _Document:
    """The object while it is patched. Containers on the path of a change are copied once."""

    __slots__ = ("_own", "copied", "root")

    def __init__(self, root: Any) -> None:
        self.root = root
        self.copied = 0
        self._own: dict[int, Any] = {}
        """Containers that were copied, by identity; kept alive so that no identity is reused."""

    def place(self, path: str, doing: str) -> tuple[Any, str]:
        """The container that holds the last part of a path, ready to be changed, and that part."""
        found, last = self.locate(path, doing)
        if id(found) in self._own:
            return found, last
        parts = [_decoded(part) for part in path.split("/")[1:-1]]
        self.root = found = self._owned(self.root)
        for part in parts:
            key = part if isinstance(found, dict) else _index(part, len(found))
            found[key] = self._owned(found[key])
            found = found[key]
        return found, last

    def _owned(self, container: Any) -> Any:
        if id(container) in self._own:
            return container
        copy = container.copy()
        self._own[id(copy)] = copy
        return copy

    def locate(self, path: str, doing: str) -> tuple[Any, str]:
        """The container and the last part of a path, for reading."""
        parts = path.split("/")[1:]
        if not parts:
            raise JsonPatchError(
                f'{doing} operation does not apply: doc is missing path: "{path}": missing value'
            )
        found = self.root
        for part in parts[:-1]:
            found = _child(found, _decoded(part))
            if not isinstance(found, dict | list):
                raise JsonPatchError(
                    f'{doing} operation does not apply: doc is missing path: "{path}": missing value'
                )
        return found, _decoded(parts[-1])


def _child(container: Any, key: str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    try:
        return container[_index(key, len(container))]
    except JsonPatchError:
        return None


def _add(document: _Document, operation: dict[str, Any]) -> None:
    container, key = document.place(_text(operation, "path"), "add")
    _put_in(container, key, _copied(operation.get("value")))


def _remove(document: _Document, operation: dict[str, Any]) -> None:
    container, key = document.place(_text(operation, "path"), "remove")
    _take_out(container, key)


def _replace(document: _Document, operation: dict[str, Any]) -> None:
    path, value = _text(operation, "path"), _copied(operation.get("value"))
    if not path:
        if not isinstance(value, dict | list):
            raise JsonPatchError("replace operation value must be object or array")
        document.root = value
        return
    container, key = document.place(path, "replace")
    if isinstance(container, dict):
        container[key] = value
    else:
        container[_index(key, len(container))] = value


def _move(document: _Document, operation: dict[str, Any]) -> None:
    container, key = document.place(_text(operation, "from"), "move")
    value = _take_out(container, key)
    container, key = document.place(_text(operation, "path"), "move")
    _put_in(container, key, value)


def _copy(document: _Document, operation: dict[str, Any]) -> None:
    container, key = document.locate(_text(operation, "from"), "copy")
    value = _found(container, key)
    container, key = document.place(_text(operation, "path"), "copy")
    raw = orjson.dumps(value)
    document.copied += len(raw)
    if document.copied > MAX_COPIED_BYTES:
        raise JsonPatchError(
            "unable to complete the copy, the accumulated size increase of copy is "
            f"{document.copied}, exceeding the limit {MAX_COPIED_BYTES}"
        )
    _put_in(container, key, orjson.loads(raw))


def _test(document: _Document, operation: dict[str, Any]) -> None:
    path, wanted = _text(operation, "path"), operation.get("value")
    if path:
        container, key = document.locate(path, "test")
        found = _found(container, key)
        absent = found is not None and "value" not in operation
    else:
        found, absent = document.root, False
    if absent or not _identical(found, wanted):
        raise JsonPatchError(f"testing value {path} failed: test failed")


_OPERATIONS: dict[str, Callable[[_Document, dict[str, Any]], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _found(container: Any, key: str) -> Any:
    """The value at a key; a missing member is null, a missing item is an error."""
    return container.get(key) if isinstance(container, dict) else container[_index(key, len(container))]


def _put_in(container: Any, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_index(key, len(container) + 1), value)


def _take_out(container: Any, key: str) -> Any:
    if isinstance(container, list):
        return container.pop(_index(key, len(container)))
    if key not in container:
        raise JsonPatchError(f"Unable to remove nonexistent key: {key}: missing value")
    return container.pop(key)


def _index(key: str, length: int) -> int:
    """A place in a list of this length; negative ones count from its end."""
    if not _INDEX.fullmatch(key):
        raise JsonPatchError(f"value was not a proper array index: '{key}'")
    index = int(key)
    if not -length <= index < length:
        raise JsonPatchError(f"Unable to access invalid index: {index}: invalid index referenced")
    return index if index >= 0 else index + length


def _text(operation: dict[str, Any], name: str) -> str:
    found = operation.get(name)
    if not isinstance(found, str):
        raise JsonPatchError(f"{operation['op']} operation failed to decode {name}: missing value")
    return found


def _decoded(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~") if "~" in part else part


def _identical(found: Any, wanted: Any) -> bool:
    """Equal, and of the same JSON type: 1 is neither 1.0 nor true."""
    if type(found) is not type(wanted):
        return False
    if isinstance(found, dict):
        return found.keys() == wanted.keys() and all(_identical(found[name], wanted[name]) for name in found)
    if isinstance(found, list):
        return len(found) == len(wanted) and all(map(_identical, found, wanted))
    return bool(found == wanted)
