"""What a route is: where, who may, what it takes, what it answers. Knows the form, not the routes."""

import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Protocol

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from jangar.server.http.identity import Caller, Right
from jangar.server.http.problems import Problem
from jangar.server.http.request_models import NoQuery
from jangar.server.http.service import Service


class Open(Enum):
    """Routes for anybody."""

    OPEN = "open"


class Known(Enum):
    """Routes for everybody who is known; the handler shows each what they may see."""

    KNOWN = "known"


PART: Final = re.compile(r"^[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?$")
"""What stands for a name in a path; nothing else names an object."""
OPEN: Final = Open.OPEN
KNOWN: Final = Known.KNOWN
Access = Open | Known | Right


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request, understood and allowed."""

    request: Request
    service: Service
    caller: Caller | None
    path: Mapping[str, str]
    query: Any
    """Of the route's query model."""
    body: Any = None
    """Of the route's body model."""

    @property
    def who(self) -> Caller:
        assert self.caller is not None  # noqa: S101 - only open routes have nobody
        return self.caller

    async def visible(self, right: Right, *, some: bool = False) -> frozenset[str] | None:
        """Namespaces that may be shown, None for all. Who names one that they may not see is refused.

        With `some`, so is who may see none at all.
        """
        named: str | None = self.query.namespace
        found = await self.service.visible(self.who, right, named)
        if found is not None and not found and (some or named is not None):
            where = f"in namespace {named}" if named else "in any namespace"
            raise Problem(403, f"{self.who.name} may not {right} {where}")
        return found


Answer = Response | dict[str, Any]


class Handler(Protocol):
    """Answers one route."""

    __name__: str

    def __call__(self, ask: Ask, /) -> Awaitable[Answer]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the table."""

    method: str
    path: str
    handler: Handler
    summary: str
    access: Access
    query: type[BaseModel] = NoQuery
    body: type[BaseModel] | None = None
    body_optional: bool = False
    answers: type[BaseModel] | None = None
    status: int = 200
    streams: bool = False
    """Answers with server-sent events, always or when asked."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Request headers that mean something here, with what they mean."""
    needs: frozenset[str] = frozenset()
    """Those of the headers that must be there."""
    is_repeatable: bool = False
    """What it makes has an identity of its own, and asking again answers 200 with it."""
    refuses: tuple[int, ...] = ()
    """Refusals beyond those that every route of its kind has."""

    @property
    def action(self) -> str:
        """What the audit trail calls it."""
        return self.handler.__name__.replace("_", "-")

    @property
    def operation(self) -> str:
        words = self.path.replace("{", "").replace("}", "").replace(".", "-").strip("/").replace("/", "-")
        return f"{self.method.lower()}-{words or 'page'}"
