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
from jangar.server.http.identity import Caller, Right, Unknown
from jangar.server.http.problems import Problem, problem_of, unauthenticated
from jangar.server.http.service import Service
from jangar.server.http.table import OPEN, PART, Answer, Ask, Entry
from jangar.store.rows import AuditRow
from jangar.telemetry.metrics import HttpMetrics

log = logging.getLogger("jangar.http")
access_log = logging.getLogger("jangar.access")

SECONDS: Final = 30.0
CSRF: Final = "x-jangar-request"
"""Cross-site pages cannot send this header without a CORS preflight, which is rejected."""


def endpoint(
    entry: Entry, service: Service, measured: HttpMetrics
) -> Callable[[Request], Awaitable[Response]]:
    """The handler of one route."""

    async def answer(request: Request) -> Response:
        began, ask = time.monotonic(), _RequestState()
        reported: Answer | Problem
        try:
            async with asyncio.timeout(SECONDS):
                reported = await _handled(entry, service, request, ask)
        except Exception as error:
            problem = problem_of(error)
            if problem is None:
                log.exception("request failed", extra={"route": entry.path})
            reported = problem or Problem(500, "internal server error")
        response = reported.answer() if isinstance(reported, Problem) else _response(entry, reported)
        if ask.caller is not None and entry.method not in SAFE:
            await service.trail.add(_audited(entry, service, request, ask, response.status_code, reported))
        took = time.monotonic() - began
        measured.answered(entry.method, entry.path, response.status_code, took)
        if service.logs_access and entry.access is not OPEN:
            # Neither the query nor a header: a token may stand there.
            extra = {"method": entry.method, "path": request.url.path, "status": response.status_code}
            who = ask.caller.name if ask.caller else ""
            access_log.info("request", extra=extra | {"seconds": round(took, 4), "caller": who})
        return response

    return answer


@dataclass(slots=True)
class _RequestState:
    """What is known of a request so far."""

    caller: Caller | None = None
    namespace: str = ""


def _audited(
    entry: Entry,
    service: Service,
    request: Request,
    ask: _RequestState,
    status: int,
    reported: Answer | Problem,
) -> AuditRow:
    """What was done to which object: that of the path, and of what was made, its own name and uid."""
    made: Mapping[str, Any] = {}
    if isinstance(reported, dict):
        made = reported.get("run") or (reported.get("resource") or {}).get("metadata") or {}
    on = request.path_params.get("name") or request.path_params.get("id", "")
    new = str(made.get("name", ""))
    detail = (
        reported.detail
        if isinstance(reported, Problem)
        else f"made {new}"
        if on and new and new != on
        else None
    )
    return AuditRow(
        at=service.now(),
        actor=ask.caller.name if ask.caller else "",
        action=entry.action,
        namespace=ask.namespace[:63],
        kind=entry.access.resource if isinstance(entry.access, Right) else "",
        name=(on or new)[:253],
        uid=made.get("uid"),
        status=status,
        detail=detail[:1000] if detail else None,
    )


async def _caller(entry: Entry, service: Service, request: Request) -> Caller | None:
    if entry.access is OPEN:
        return None
    now = service.now().timestamp()
    try:
        caller = await service.doorkeeper.caller(request.headers, request.cookies, now)
    except Unknown as error:
        raise unauthenticated(str(error)) from error
    if caller is None:
        raise unauthenticated("authentication required")
    if caller.by_session and is_foreign_user(request.scope):
        raise unauthenticated("the session belongs to another user of this machine")
    if caller.by_session and entry.method not in SAFE and CSRF not in request.headers:
        raise Problem(
            403, f"session requests that change state require the header {CSRF}", fix=f"send {CSRF}: 1"
        )
    return caller


async def _handled(entry: Entry, service: Service, request: Request, ask: _RequestState) -> Answer:
    caller = ask.caller = await _caller(entry, service, request)
    for name, value in request.path_params.items():
        if PART.fullmatch(value) is None:
            raise Problem(404, f"invalid {name} {value[:100]!r}")
    query = _query(entry, request)
    body = await _body(entry, request)
    # The namespace stands in the path, the body or the query; else it is the usual one.
    given = (request.path_params.get("namespace"), getattr(body, "namespace", None))
    ask.namespace = next(filter(None, given), None) or getattr(query, "namespace", None) or service.namespace
    if caller is not None:
        await _check(entry, caller, ask.namespace)
        await service.live.informer.synced()
    return await entry.handler(
        Ask(request=request, service=service, caller=caller, path=request.path_params, query=query, body=body)
    )


async def _check(entry: Entry, caller: Caller, namespace: str) -> None:
    if isinstance(entry.access, Right) and not await caller.rights.has(entry.access, namespace):
        raise Problem(403, f"{caller.name} may not {entry.access} in namespace {namespace}")


def _query(entry: Entry, request: Request) -> BaseModel:
    given: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name in given:
            raise Problem(400, f"query parameter {name} is specified twice")
        given[name] = value
    try:
        return entry.query.model_validate(given, by_name=False, by_alias=True)
    except ValidationError as error:
        raise Problem(400, "invalid query parameters", problems=_validation_messages(error)) from error


async def _body(entry: Entry, request: Request) -> BaseModel | None:
    if entry.body is None:
        return None
    raw = await request.body()
    if not raw and entry.body_optional:
        return None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(415, f"unsupported content type {kind or '(none)'}")
    try:
        return entry.body.model_validate(orjson.loads(raw), by_name=False, by_alias=True)
    except orjson.JSONDecodeError as error:
        raise Problem(400, f"the request body is not valid JSON: {error}") from error
    except ValidationError as error:
        raise Problem(422, "invalid request body", problems=_validation_messages(error)) from error


def _validation_messages(error: ValidationError) -> list[str]:
    return [f"{'.'.join(map(str, item['loc'])) or 'body'}: {item['msg']}" for item in error.errors()]


def _response(entry: Entry, answer: Answer) -> Response:
    if isinstance(answer, Response):
        return answer
    is_repeat = answer.get("repeated") is True or answer.get("idempotent") is True
    return Response(
        orjson.dumps(answer),
        status_code=200 if is_repeat else entry.status,
        media_type="application/json",
        headers={"Cache-Control": "no-store"},
    )
