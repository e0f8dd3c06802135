"""Requests and responses, whatever carries them: a socket or a call within the process.

Knows the grammar of Kubernetes' paths and the options of a write; knows no kind.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import orjson

from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.memoize import memoized
from picokube.schema import ErrorType, FieldError

Json = Mapping[str, Any]
JsonObject = dict[str, Any]

JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """The user who sends a request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What else is known, such as the pod that a token was made for."""


ANONYMOUS = User(name="system:anonymous", groups=("system:unauthenticated",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request. Header names are lower case, and the path is decoded."""

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
    """A streamed answer: a watch, or a log that is followed."""

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
    """304: the copy of the client is current. It has no headers about a body, which a cache would believe."""
    return Response(status=HTTPStatus.NOT_MODIFIED, content_type="", headers=headers)


def text_response(text: str, *, status: int = HTTPStatus.OK) -> Response:
    return Response(status=status, body=text.encode(), content_type="text/plain; charset=utf-8")


NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The object or collection that a path names."""

    group: str
    version: str
    resource: str
    namespace: str | None = None
    name: str | None = None
    subresource: str = ""
    rest: tuple[str, ...] = ()
    """What follows the subresource, as in a proxy's path."""


@memoized(4096)
def target_of(path: str) -> Target | None:
    """The resource that a path names; None for every other path."""
    parts = [part for part in path.split("/") if part]
    match parts:
        case ["api", version, *rest] if rest:
            return _resource("", version, rest)
        case ["apis", group, version, *rest] if rest:
            return _resource(group, version, rest)
        case _:
            return None


def _resource(group: str, version: str, rest: list[str]) -> Target:
    namespace: str | None
    match rest:
        case ["namespaces", _, part, *_] if part in NAMESPACE_SUBRESOURCES:
            namespace = None
        case ["namespaces", namespace, *within] if within:
            rest = within
        case _:
            namespace = None
    resource, name, subresource, *more = [*rest, "", ""] if len(rest) < _MAX_PARTS else rest
    return Target(
        group=group,
        version=version,
        resource=resource,
        namespace=namespace,
        name=name or None,
        subresource=subresource,
        rest=tuple(part for part in more if part),
    )


_MAX_PARTS = 3
"""Parts of a path with a subresource."""


STRICT, WARN, IGNORE = "Strict", "Warn", "Ignore"
MANAGER_LENGTH = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """How a write is to be done."""

    manager: str
    dry_run: bool = False
    validation: str = WARN
    force: bool = False
    user: User | None = None
    """The user who writes; None for the server itself."""
    size: int = 0
    """Bytes of the request."""


def write_options(request: Request, *, kind: str = "CreateOptions") -> WriteOptions:
    """Raises for values that Kubernetes refuses."""
    dry_run = list(request.query.get("dryRun") or ())
    problems: list[FieldError] = []
    if any(item != "All" for item in dry_run):
        problems.append(unsupported("dryRun", dry_run, "All"))
    manager = request.parameter("fieldManager") or ""
    if len(manager) > MANAGER_LENGTH:
        detail = f"may not be more than {MANAGER_LENGTH} bytes"
        problems.append(FieldError(type=ErrorType.TOO_LONG, field="fieldManager", detail=detail))
    bad = next((place for place, item in enumerate(manager) if not item.isprintable()), None)
    if bad is not None:
        detail = f"invalid character U+{ord(manager[bad]):04X} (at position {bad})"
        problems.append(
            FieldError(type=ErrorType.INVALID, field="fieldManager", bad_value=manager, detail=detail)
        )
    validation = request.parameter("fieldValidation") or WARN
    if validation not in (STRICT, WARN, IGNORE):
        problems.append(unsupported("fieldValidation", validation, "", IGNORE, STRICT, WARN))
    if problems:
        raise invalid_options(kind, problems)
    return WriteOptions(
        manager=manager or manager_of(request.headers.get("user-agent", "")),
        dry_run="All" in dry_run,
        validation=validation,
        force=request.flag("force"),
        user=request.user,
        size=len(request.body),
    )


def invalid_options(kind: str, problems: list[FieldError]) -> errors.ApiError:
    """Options are refused as objects are."""
    return errors.invalid(kind, "meta.k8s.io", "", problems)


def unsupported(field: str, value: object, *supported: str) -> FieldError:
    """A value that is none of these."""
    detail = "supported values: " + ", ".join(f'"{item}"' for item in supported)
    return FieldError(type=ErrorType.NOT_SUPPORTED, field=field, bad_value=value, detail=detail)


def forbidden(field: str, detail: str) -> FieldError:
    """A field that may not be set here."""
    return FieldError(type=ErrorType.FORBIDDEN, field=field, detail=detail)


def manager_of(user_agent: str) -> str:
    """The field manager of a client that names none: the first word of its user agent."""
    return user_agent.split("/", 1)[0][:MANAGER_LENGTH] or "unknown"
