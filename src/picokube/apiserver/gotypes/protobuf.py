"""Bodies in Kubernetes' protobuf: a magic number and a runtime.Unknown, as kubectl create and Helm send them.

Field numbers come from the tags of the Go types (data/structs.json). Only decodes; answers are JSON, which every client
accepts. Input is not trusted: lengths, depth and size are bounded, and anything unreadable is a bad request.
"""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from picokube.apiserver.gotypes.go_types import (
    GoType,
    ListOf,
    MapOf,
    Own,
    Pointer,
    Scalar,
    Struct,
    knows,
    type_of,
)
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import JsonObject

MAGIC: Final = b"k8s\x00"
MAX_DEPTH: Final = 64
_PACKAGES: Final = {"": "core", "rbac.authorization.k8s.io": "rbac", "meta.k8s.io": "meta"}
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT: Final = 10
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Unreadable(ValueError):
    """Bytes that are no message."""


def decode(body: bytes) -> JsonObject:
    """The object that an envelope holds. Raises ApiError for what cannot be read."""
    try:
        return _decode(body)
    except (Unreadable, UnicodeDecodeError, OverflowError) as error:
        raise errors.bad_request(f"the body of the request is not readable protobuf: {error}") from error


def _decode(body: bytes) -> JsonObject:
    if not body.startswith(MAGIC):
        raise Unreadable(
            f"provided data does not appear to be a protobuf message, expected prefix {list(MAGIC)}"
        )
    api_version = kind = ""
    raw, encoding = b"", ""
    for number, _, value in _fields(body[len(MAGIC) :]):
        match number, value:
            case 1, bytes():
                for inner, _, text in _fields(value):
                    if inner == 1 and isinstance(text, bytes):
                        api_version = text.decode()
                    elif inner == 2 and isinstance(text, bytes):  # noqa: PLR2004 - a field number
                        kind = text.decode()
            case 2, bytes():
                raw = value
            case 3, bytes():
                encoding = value.decode()
    if encoding:
        raise Unreadable(f"content encoding {encoding!r} is not supported")
    struct = _struct_of(api_version, kind)
    # A kind that is not known is refused by name where the kind that belongs there is known.
    return {"apiVersion": api_version, "kind": kind} | (_message(raw, struct, 0) if struct else {})


def _struct_of(api_version: str, kind: str) -> Struct | None:
    group, _, version = api_version.rpartition("/")
    package = _PACKAGES.get(group) or group.removesuffix(".k8s.io").split(".")[0]
    key = f"{package}/{version}.{kind}"
    if kind == "DeleteOptions":
        # Every group has it, and it is always the same.
        key = "meta/v1.DeleteOptions"
    found = type_of(key) if kind and knows(key) else None
    return found if isinstance(found, Struct) else None


def _fields(message: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Field number, wire type and value, one after another."""
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise Unreadable("a field number is 0")
        if wire == _VARINT:
            value, at = _varint(message, at)
            yield number, wire, value
            continue
        if wire == _BYTES:
            size, at = _varint(message, at)
        elif wire in (_FIXED32, _FIXED64):
            size = 4 if wire == _FIXED32 else 8
        else:
            raise Unreadable(f"wire type {wire} is not used by Kubernetes")
        if size > end - at:
            raise Unreadable("unexpected EOF")
        yield number, wire, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for n, byte in enumerate(message[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * n)
        if byte < 0x80:  # noqa: PLR2004 - the last byte of a number
            return value, at + n + 1
    raise Unreadable("integer overflow" if len(message) - at >= _LONGEST_VARINT else "unexpected EOF")


def _message(raw: bytes, struct: Struct, depth: int) -> JsonObject:
    """A struct: embedded ones are messages of their own here, and part of their owner in JSON."""
    if depth > MAX_DEPTH:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} messages")
    found: JsonObject = {}
    fields, embedded = struct.by_number
    for number, _, value in _fields(raw):
        if number in embedded:
            if isinstance(value, bytes):
                found |= _message(value, embedded[number], depth + 1)
            continue
        known = fields.get(number)
        if known is not None:
            _add(found, known.json, value, known.type, depth)
    return found


def _add(found: JsonObject, name: str, value: int | bytes, go_type: GoType, depth: int) -> None:
    match go_type:
        case Pointer(to=to):
            _add(found, name, value, to, depth)
        case ListOf(item=item):
            found.setdefault(name, []).append(_value(value, item, depth))
        case MapOf(value=of):
            key, each = _entry(value, of, depth)
            found.setdefault(name, {})[key] = each
        case _:
            found[name] = _value(value, go_type, depth)


def _entry(value: int | bytes, of: GoType, depth: int) -> tuple[str, Any]:
    key, each = "", None
    for number, _, part in _fields(_as_bytes(value)):
        if number == 1:
            key = _as_bytes(part).decode()
        elif number == 2:  # noqa: PLR2004 - a field number
            each = _value(part, of, depth + 1)
    return key, each


def _value(value: int | bytes, go_type: GoType, depth: int) -> Any:
    match go_type:
        case Pointer(to=to):
            return _value(value, to, depth)
        case Scalar(base="string"):
            return _as_bytes(value).decode()
        case Scalar(base="bool"):
            return bool(_as_int(value))
        case Scalar(base="int32" | "int64"):
            return _signed(_as_int(value))
        case Scalar(base="[]byte"):
            return base64.b64encode(_as_bytes(value)).decode()
        case Struct():
            return _message(_as_bytes(value), go_type, depth + 1)
        case ListOf(item=item):
            # A defined list type is a message with its items in field 1.
            return [
                _value(entry, item, depth + 1)
                for number, _, entry in _fields(_as_bytes(value))
                if number == 1
            ]
        case Own(name=name):
            return _own(_as_bytes(value), name)
        case _:
            raise Unreadable(f"a field of type {go_type} cannot be sent in protobuf")


def _own(raw: bytes, name: str) -> Any:
    parts = {number: value for number, _, value in _fields(raw)}
    match name:
        case "resource.Quantity":
            return _as_bytes(parts.get(1, b"")).decode()
        case "intstr.IntOrString":
            is_text = _as_int(parts.get(1, 0)) == 1
            return _as_bytes(parts.get(3, b"")).decode() if is_text else _signed(_as_int(parts.get(2, 0)))
        case "meta/v1.Time" | "meta/v1.MicroTime":
            return _moment(parts, is_micro=name.endswith("MicroTime"))
        case "meta/v1.FieldsV1":
            return _json(_as_bytes(parts.get(1, b"")))
        case "runtime.RawExtension" | "apiextensions/v1.JSON":
            return _json(_as_bytes(parts.get(1, b"")))
        case _:
            raise Unreadable(f"a field of type {name} cannot be sent in protobuf; send it as JSON")


def _moment(parts: dict[int, int | bytes], *, is_micro: bool) -> str | None:
    if not parts:
        return None
    seconds, nanos = _signed(_as_int(parts.get(1, 0))), _signed(_as_int(parts.get(2, 0)))
    moment = _EPOCH + timedelta(seconds=seconds, microseconds=max(nanos, 0) // 1000 % 1_000_000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if is_micro else "%Y-%m-%dT%H:%M:%SZ")


def _json(raw: bytes) -> Any:
    try:
        return orjson.loads(raw) if raw else None
    except orjson.JSONDecodeError as error:
        raise Unreadable("embedded JSON cannot be read") from error


def _signed(value: int) -> int:
    value &= 2**64 - 1
    return value - 2**64 if value >= 2**63 else value


def _as_bytes(value: int | bytes) -> bytes:
    if isinstance(value, bytes):
        return value
    raise Unreadable("a number stands where bytes belong")


def _as_int(value: int | bytes) -> int:
    if isinstance(value, int):
        return value
    raise Unreadable("bytes stand where a number belongs")
