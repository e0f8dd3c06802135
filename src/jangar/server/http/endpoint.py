"""Handles one request of a route: authentication, validation, authorization, timeout, audit and metrics."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from jangar.server.http.guards import SAFE, is_foreign_user
from jangar.server.http.identity import Principal, Right, Unknown
from jangar.server.http.problems import Problem, problem_of, unauthenticated
from jangar.server.http.route import OPEN, PART, Answer, ApiRequest, ApiRoute
from jangar.server.http.service import Service
from jangar.telemetry.metrics import HttpMetrics

log = logging.getLogger("jangar.http")
access_log = logging.getLogger("jangar.access")

REQUEST_TIMEOUT: Final = 30.0
CSRF: Final = "x-jangar-request"
"""Cross-site pages cannot send this header without a CORS preflight, which is rejected."""
DURATION_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


@dataclass(slots=True)
class _RequestState:
    """What is known about a request so far."""

    principal: Principal | None = None
    namespace: str = ""


def endpoint(
    route: ApiRoute, service: Service, metrics: HttpMetrics
) -> Callable[[Request], Awaitable[Response]]:
    """The ASGI endpoint of one route."""

    async def respond(request: Request) -> Response:
        began, state = time.monotonic(), _RequestState()
        answer: Answer | Problem
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT):
                answer = await _handle(route, service, request, state)
        except Exception as error:
            problem = problem_of(error)
            if problem is None:
                log.exception("request failed", extra={"route": route.path})
            answer = problem or Problem(500, "internal server error")
        response = answer.answer() if isinstance(answer, Problem) else _response(route, answer)
        principal = state.principal.name if state.principal else ""
        if state.principal is not None and route.method not in SAFE:
            await _audit(route, service, request, state, response.status_code, answer)
        seconds = time.monotonic() - began
        metrics.answered(route.method, route.path, response.status_code, seconds)
        if service.logs_access and route.access is not OPEN:
            # Neither the query nor a header, because they may contain a token.
            extra = {"method": route.method, "path": request.url.path, "status": response.status_code}
            access_log.info("request", extra=extra | {"seconds": round(seconds, 4), "caller": principal})
        return response

    return respond


async def _audit(
    route: ApiRoute,
    service: Service,
    request: Request,
    state: _RequestState,
    status: int,
    answer: Answer | Problem,
) -> None:
    """Record the change, with the object that the path names and the one that was created."""
    created: Mapping[str, Any] = {}
    if isinstance(answer, dict):
        created = answer.get("run") or (answer.get("resource") or {}).get("metadata") or {}
    name = request.path_params.get("name") or request.path_params.get("id", "")
    new_name = str(created.get("name", ""))
    detail = f"made {new_name}" if name and new_name and new_name != name else None
    await service.trail.record(
        actor=state.principal.name if state.principal else "",
        action=route.action,
        namespace=state.namespace,
        kind=route.access.resource if isinstance(route.access, Right) else "",
        name=name or new_name,
        uid=created.get("uid"),
        status=status,
        detail=answer.detail if isinstance(answer, Problem) else detail,
    )


async def _authenticate(route: ApiRoute, service: Service, request: Request) -> Principal | None:
    if route.access is OPEN:
        return None
    now = service.now().timestamp()
    try:
        principal = await service.authenticator.principal(request.headers, request.cookies, now)
    except Unknown as error:
        raise unauthenticated(str(error)) from error
    if principal is None:
        raise unauthenticated("authentication required")
    if principal.by_session and is_foreign_user(request.scope):
        raise unauthenticated("the session belongs to another user of this machine")
    if principal.by_session and route.method not in SAFE and CSRF not in request.headers:
        raise Problem(
            403, f"session requests that change state require the header {CSRF}", fix=f"send {CSRF}: 1"
        )
    return principal


async def _handle(route: ApiRoute, service: Service, request: Request, state: _RequestState) -> Answer:
    principal = state.principal = await _authenticate(route, service, request)
    for name, value in request.path_params.items():
        if PART.fullmatch(value) is None:
            raise Problem(404, f"invalid {name} {value[:100]!r}")
    handled = ApiRequest(
        http=request,
        service=service,
        identity=principal,
        path=request.path_params,
        query=_query(route, request),
        body=await _body(route, request),
    )
    state.namespace = request.path_params.get("namespace") or handled.namespace
    if principal is not None:
        if isinstance(route.access, Right):
            await handled.require(route.access, state.namespace)
        await service.live.informer.synced()
    return await route.handler(handled)


def _query(route: ApiRoute, request: Request) -> BaseModel:
    given: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name in given:
            raise Problem(400, f"query parameter {name} is specified twice")
        given[name] = value
    try:
        return route.query.model_validate(given, by_name=False, by_alias=True)
    except ValidationError as error:
        raise Problem(400, "invalid query parameters", problems=_validation_messages(error)) from error


async def _body(route: ApiRoute, request: Request) -> BaseModel | None:
    if route.body is None:
        return None
    raw = await request.body()
    if not raw and route.body_optional:
        return None
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Problem(415, f"unsupported content type {media_type or '(none)'}")
    try:
        return route.body.model_validate(orjson.loads(raw), by_name=False, by_alias=True)
    except orjson.JSONDecodeError as error:
        raise Problem(400, f"the request body is not valid JSON: {error}") from error
    except ValidationError as error:
        raise Problem(422, "invalid request body", problems=_validation_messages(error)) from error


def _validation_messages(error: ValidationError) -> list[str]:
    return [f"{'.'.join(map(str, item['loc'])) or 'body'}: {item['msg']}" for item in error.errors()]


def _response(route: ApiRoute, answer: Answer) -> Response:
    if isinstance(answer, Response):
        return answer
    is_repeat = answer.get("repeated") is True or answer.get("idempotent") is True
    return Response(
        orjson.dumps(answer),
        status_code=200 if is_repeat else route.status,
        media_type="application/json",
        headers={"Cache-Control": "no-store"},
    )
