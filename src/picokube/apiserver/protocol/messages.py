"""Requests and answers, whatever carried them: a socket or a call within the process."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import orjson

Json = Mapping[str, Any]
JsonObject = dict[str, Any]

JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who asks."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What else is known, such as the pod that a token was made for."""


ANONYMOUS = User(name="system:anonymous", groups=("system:unauthenticated",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked. Header names are lower case, and the path is decoded."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    user: User = ANONYMOUS

    def parameter(self, name: str) -> str | None:
        """The first value of a query parameter."""
        values = self.query.get(name)
        return values[0] if values else None

    def flag(self, name: str) -> bool:
        """A boolean parameter as Kubernetes reads it: present, and not false."""
        value = self.parameter(name)
        return value is not None and value.lower() not in ("false", "0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A whole answer."""

    status: int = HTTPStatus.OK
    body: bytes = b""
    content_type: str = JSON
    headers: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """An answer that goes on: a watch, or a log that is followed."""

    chunks: AsyncIterator[bytes]
    status: int = HTTPStatus.OK
    content_type: str = JSON
    headers: Sequence[tuple[str, str]] = ()


Answer = Response | Stream


def json_response(
    document: Any,
    *,
    status: int = HTTPStatus.OK,
    content_type: str = JSON,
    headers: Sequence[tuple[str, str]] = (),
) -> Response:
    """A document as JSON, with the line break at its end that kube-apiserver has, too."""
    body = orjson.dumps(document) + b"\n"
    return Response(status=status, body=body, content_type=content_type, headers=headers)


def unchanged(headers: Sequence[tuple[str, str]]) -> Response:
    """What the client has is still right. Says nothing of a body: a cache would believe it."""
    return Response(status=HTTPStatus.NOT_MODIFIED, content_type="", headers=headers)


def text_response(text: str, *, status: int = HTTPStatus.OK) -> Response:
    return Response(status=status, body=text.encode(), content_type="text/plain; charset=utf-8")
