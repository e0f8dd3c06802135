"""OpenAPI v2, which describes no kind here: /openapi/v3 does, and the server itself refuses unknown fields.

kubectl asks for it, in protobuf alone, before it takes a List apart, and gives up when there is none.
"""

from typing import Final

import orjson

from jangar.apiserver import errors
from jangar.apiserver.discovery import MAJOR, MINOR
from jangar.apiserver.messages import Request, Response

PATH: Final = "/openapi/v2"
_JSON: Final = "application/json"
_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_ASKED_FOR: Final = frozenset({_PROTOBUF, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"})
"""Clients ask by the second name, which is no media type."""
_TITLE, _VERSION = "Kubernetes", f"{MAJOR}.{MINOR}"


def answer(request: Request) -> Response:
    """The document in the form that is asked for; JSON if any will do."""
    for accepted in request.headers.get("accept", "*/*").split(","):
        media = accepted.partition(";")[0].strip()
        if media in ("", "*/*", "application/*", _JSON):
            return Response(body=_json())
        if media in _ASKED_FOR:
            return Response(body=_protobuf(), content_type=_PROTOBUF)
    raise errors.not_acceptable([_JSON, _PROTOBUF])


def _json() -> bytes:
    return orjson.dumps({"swagger": "2.0", "info": {"title": _TITLE, "version": _VERSION}, "paths": {}})


def _protobuf() -> bytes:
    info = _field(1, _TITLE.encode()) + _field(2, _VERSION.encode())
    return _field(1, b"2.0") + _field(2, info) + _field(8, b"")


def _field(number: int, value: bytes) -> bytes:
    """A short text or message: its number and kind, its length, itself."""
    return bytes([number << 3 | 2, len(value)]) + value
