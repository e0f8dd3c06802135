"""The form of a route: path, required permission, request and response models, and the request that a handler gets."""

import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Protocol

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from jangar.operations.caller import Caller, RunRef
from jangar.server.http.identity import Principal, Right
from jangar.server.http.problems import Problem
from jangar.server.http.request_models import NoQuery
from jangar.server.http.service import Service


class Open(Enum):
    """Routes without authentication."""

    OPEN = "open"


class Known(Enum):
    """Routes for every authenticated caller; the handler filters what each may see."""

    KNOWN = "known"


PART: Final = re.compile(r"^[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?$")
"""A valid path parameter; no other text can name an object."""
OPEN: Final = Open.OPEN
KNOWN: Final = Known.KNOWN
Access = Open | Known | Right


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """A request after authentication, validation and authorization."""

    http: Request
    service: Service
    identity: Principal | None
    path: Mapping[str, str]
    query: Any
    """An instance of the route's query model."""
    body: Any = None
    """An instance of the route's body model."""

    @property
    def principal(self) -> Principal:
        assert self.identity is not None  # noqa: S101 - only open routes have none
        return self.identity

    @property
    def caller(self) -> Caller:
        """The principal as operations need it, with the stores of this control plane."""
        return Caller(
            client=self.principal.client,
            transport=self.principal.transport,
            runs=self.service.runs,
            name=self.principal.name,
            namespace=self.service.namespace,
            keys=self.service.keys,
            history=self.service.past,
            log_tails=self.service.tails,
        )

    @property
    def run(self) -> RunRef:
        """The run that the path names."""
        uid = getattr(self.query, "uid", None)
        return RunRef(namespace=self.path["namespace"], name=self.path["name"], uid=uid)

    @property
    def namespace(self) -> str:
        """The namespace that the body or the query names, or the default one."""
        given = getattr(self.body, "namespace", None) or getattr(self.query, "namespace", None)
        return given or self.service.namespace

    async def visible(self, right: Right, *, required: bool = False) -> frozenset[str] | None:
        """Namespaces that may be shown; None for all.

        Raises Problem if the query names a namespace that the caller may not see, and, if `required`, if there is none.
        """
        named: str | None = self.query.namespace
        namespaces = await self.service.visible(self.principal, right, named)
        if namespaces is not None and not namespaces and (required or named is not None):
            where = f"in namespace {named}" if named else "in any namespace"
            raise Problem(403, f"{self.principal.name} may not {right} {where}")
        return namespaces

    async def require(self, right: Right, namespace: str, prefix: str = "") -> None:
        """Raises Problem if the caller lacks the permission."""
        if not await self.principal.rights.has(right, namespace):
            raise Problem(
                403, f"{prefix or self.principal.name + ' may not'} {right} in namespace {namespace}"
            )


Answer = Response | dict[str, Any]


class Handler(Protocol):
    """Answers requests of one route. Its name is the action in the audit trail."""

    __name__: str

    def __call__(self, request: ApiRequest, /) -> Awaitable[Answer]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRoute:
    """One row of the route table."""

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
    """The response is server-sent events, always or on request."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Request headers that the route uses, with their descriptions."""
    needs: frozenset[str] = frozenset()
    """Required headers."""
    is_repeatable: bool = False
    """The created object has a fixed identity; a repeated request answers 200 with it."""
    refuses: tuple[int, ...] = ()
    """Error statuses in addition to those of every route of its kind."""

    @property
    def action(self) -> str:
        """Name in the audit trail."""
        return self.handler.__name__.replace("_", "-")

    @property
    def operation(self) -> str:
        """OpenAPI operation id."""
        words = self.path.replace("{", "").replace("}", "").replace(".", "-").strip("/").replace("/", "-")
        return f"{self.method.lower()}-{words or 'page'}"
