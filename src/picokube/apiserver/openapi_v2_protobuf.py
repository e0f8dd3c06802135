"""An OpenAPI v2 document as protobuf, in the messages of openapi.v2 (gnostic), which kubectl and client-go read. Pure.

Numbers are those of the published OpenAPIv2.proto; only fields that the document has are known.
"""

import struct
from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

Json = Mapping[str, Any]

_VARINT, _DOUBLE, _LENGTH = 0, 1, 2
_METHODS: Final = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
_SCHEMA_TEXTS: Final = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}
_SCHEMA_DOUBLES: Final = {"multipleOf": 6, "maximum": 7, "minimum": 9}
_SCHEMA_FLAGS: Final = {"exclusiveMaximum": 8, "exclusiveMinimum": 10, "uniqueItems": 16}
_SCHEMA_WHOLES: Final = {
    "maxLength": 11, "minLength": 12, "maxItems": 14, "minItems": 15, "maxProperties": 17, "minProperties": 18,
}  # fmt: skip


def encoded(document: Json) -> bytes:
    """The message Document."""
    info = _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])
    paths = b"".join(_named(2, name, _path_item(item)) for name, item in document["paths"].items())
    definitions = b"".join(_named(1, name, _schema(entry)) for name, entry in document["definitions"].items())
    shared = b"".join(_named(1, name, _parameter(entry)) for name, entry in document["parameters"].items())
    return (
        _text(1, document["swagger"])
        + _message(2, info)
        + _message(8, paths)
        + _message(9, definitions)
        + _message(10, shared)
    )


def _path_item(item: Json) -> bytes:
    operations = b"".join(
        _message(number, _operation(item[name])) for name, number in _METHODS.items() if name in item
    )
    return operations + b"".join(
        _message(9, _parameters_item(parameter)) for parameter in item.get("parameters") or ()
    )


def _operation(operation: Json) -> bytes:
    responses = b"".join(
        _named(1, code, _message(1, _response(answer))) for code, answer in operation["responses"].items()
    )
    return (
        _texts(1, operation["tags"])
        + _text(5, operation["operationId"])
        + _texts(6, operation["produces"])
        + _texts(7, operation["consumes"])
        + b"".join(_message(8, _parameters_item(parameter)) for parameter in operation["parameters"])
        + _message(9, responses)
        + _extensions(13, operation)
    )


def _response(answer: Json) -> bytes:
    found = _text(1, answer["description"])
    return found + (_message(2, _message(1, _schema(answer["schema"]))) if "schema" in answer else b"")


def _parameters_item(found: Json) -> bytes:
    if "$ref" in found:
        return _message(2, _text(1, found["$ref"]))
    return _message(1, _parameter(found))


def _parameter(found: Json) -> bytes:
    match found["in"]:
        case "body":
            body = _text(2, found["name"]) + _text(3, "body") + _flag(4, value=found.get("required") is True)
            return _message(1, body + _message(5, _schema(found["schema"])))
        case "path":
            path = _flag(1, value=True) + _text(2, "path") + _text(3, found.get("description", ""))
            path += _text(4, found["name"]) + _text(5, found["type"]) + _flag(19, value=True)
            return _message(2, _message(4, path))
        case _:
            query = _text(2, "query") + _text(4, found["name"]) + _text(6, found["type"])
            return _message(2, _message(3, query + _flag(20, value=True)))


def _schema(schema: Json) -> bytes:
    found = b"".join(_text(number, schema[name]) for name, number in _SCHEMA_TEXTS.items() if name in schema)
    found += b"".join(
        _key(number, _DOUBLE) + struct.pack("<d", float(schema[name]))
        for name, number in _SCHEMA_DOUBLES.items()
        if name in schema
    )
    found += b"".join(
        _flag(number, value=schema[name] is True) for name, number in _SCHEMA_FLAGS.items() if name in schema
    )
    found += b"".join(
        _key(number, _VARINT) + _varint(int(schema[name]))
        for name, number in _SCHEMA_WHOLES.items()
        if name in schema
    )
    found += _texts(19, schema.get("required") or ())
    found += b"".join(_message(20, _any(item)) for item in schema.get("enum") or ())
    more = schema.get("additionalProperties")
    if isinstance(more, Mapping):
        found += _message(21, _message(1, _schema(more)))
    elif more is not None:
        found += _message(21, _key(2, _VARINT) + _varint(int(bool(more))))
    if "type" in schema:
        found += _message(22, _text(1, schema["type"]))
    if isinstance(schema.get("items"), Mapping):
        found += _message(23, _message(1, _schema(schema["items"])))
    if properties := schema.get("properties"):
        inner = b"".join(_named(1, name, _schema(item)) for name, item in properties.items())
        found += _message(25, inner)
    return found + _extensions(31, schema)


def _extensions(number: int, found: Json) -> bytes:
    return b"".join(_named(number, name, _any(found[name])) for name in found if name.startswith("x-"))


def _any(value: Any) -> bytes:
    """A value as YAML, of which JSON is a part."""
    return _text(2, orjson.dumps(value).decode() + "\n")


def _named(number: int, name: str, value: bytes) -> bytes:
    return _message(number, _text(1, name) + _message(2, value))


def _texts(number: int, values: Iterable[str]) -> bytes:
    return b"".join(_message(number, value.encode()) for value in values)


def _text(number: int, value: str) -> bytes:
    return _message(number, value.encode()) if value else b""


def _flag(number: int, *, value: bool) -> bytes:
    return _key(number, _VARINT) + b"\x01" if value else b""


def _message(number: int, value: bytes) -> bytes:
    return _key(number, _LENGTH) + _varint(len(value)) + value


def _key(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _varint(value: int) -> bytes:
    value &= 2**64 - 1
    found = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits a byte
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
