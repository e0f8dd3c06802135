"""The application: the table of routes, the page, and the guards around both."""

from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from typing import Final

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from jangar.server.http import openapi
from jangar.server.http.endpoint import endpoint
from jangar.server.http.guards import AllowedHosts, Guards
from jangar.server.http.page_files import Page, asset
from jangar.server.http.problems import Problem
from jangar.server.http.routes import ROUTES
from jangar.server.http.service import Service
from jangar.telemetry.metrics import HttpMetrics

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
API: Final = ("/v1/{path:path}", "/api/{path:path}", "/assets/{path:path}")


def application(service: Service, references: AllowedHosts) -> ASGIApp:
    """One server; its parts are the service's."""
    measured = HttpMetrics()
    by_path: dict[str, list[str]] = {}
    for entry in ROUTES:
        by_path.setdefault(entry.path, []).append(entry.method)
    page = Page(service)
    app = Starlette(
        routes=[
            *(
                Route(route.path, endpoint(route, service, measured), methods=[route.method])
                for route in ROUTES
            ),
            *(Route(path, _only(methods), methods=METHODS) for path, methods in by_path.items()),
            Route("/assets/{file}", asset),
            *(Route(path, _not_found, methods=METHODS) for path in API),
            Route("/{path:path}", page.answer),
        ],
        exception_handlers={HTTPException: _refused, Problem: _problem},
    )
    app.router.redirect_slashes = False
    app.state.measured = measured.text
    app.state.openapi = _document(service.version)
    return Guards(app, references)


def _document(version: str) -> Callable[[], bytes]:
    return cache(lambda: orjson.dumps(openapi.document(ROUTES, version)))


def _only(methods: Sequence[str]) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        allow = ", ".join(methods)
        detail = f"{request.url.path} supports {allow}, not {request.method}"
        return Problem(405, detail, headers={"Allow": allow}).answer()

    return answer


async def _not_found(request: Request) -> Response:
    return Problem(404, f"{request.url.path} not found", fix="see /openapi.json for the routes").answer()


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    detail = f"{request.method} {request.url.path}: {error.detail}"
    return Problem(error.status_code, detail, headers=dict(error.headers or {})).answer()


async def _problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)  # noqa: S101 - registered for it
    return error.answer()
