"""The ASGI application: the API routes, the files of the web page, and the guards around both."""

import gzip
import mimetypes
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Final

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from jangar.server.http import openapi
from jangar.server.http.control_plane_routes import COOKIE
from jangar.server.http.endpoint import endpoint
from jangar.server.http.guards import AllowedHosts, Guards
from jangar.server.http.identity import Sessions
from jangar.server.http.problems import Problem
from jangar.server.http.routes import ROUTES
from jangar.server.http.service import Service
from jangar.telemetry.metrics import HttpMetrics

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
API: Final = ("/v1/{path:path}", "/api/{path:path}", "/assets/{path:path}")
FILES: Final = Path(__file__).parents[1] / "web"
CACHE_FOREVER: Final = "public, max-age=31536000, immutable"
"""For assets, whose names contain their hash."""


def application(service: Service, allowed_hosts: AllowedHosts) -> ASGIApp:
    """The application of one control plane."""
    metrics = HttpMetrics()
    by_path: dict[str, list[str]] = {}
    for route in ROUTES:
        by_path.setdefault(route.path, []).append(route.method)
    page = Page(service)
    app = Starlette(
        routes=[
            *(
                Route(route.path, endpoint(route, service, metrics), methods=[route.method])
                for route in ROUTES
            ),
            *(
                Route(path, _method_not_allowed(methods), methods=METHODS)
                for path, methods in by_path.items()
            ),
            Route("/assets/{file}", _asset),
            *(Route(path, _not_found, methods=METHODS) for path in API),
            Route("/{path:path}", page.respond),
        ],
        exception_handlers={HTTPException: _http_error, Problem: _problem},
    )
    app.router.redirect_slashes = False
    app.state.http_metrics = metrics.text
    app.state.openapi = _document(service.version)
    return Guards(app, allowed_hosts)


def _document(version: str) -> Callable[[], bytes]:
    return cache(lambda: orjson.dumps(openapi.document(ROUTES, version)))


def _method_not_allowed(methods: Sequence[str]) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        allow = ", ".join(methods)
        detail = f"{request.url.path} supports {allow}, not {request.method}"
        return Problem(405, detail, headers={"Allow": allow}).answer()

    return respond


async def _not_found(request: Request) -> Response:
    return Problem(404, f"{request.url.path} not found", fix="see /openapi.json for the routes").answer()


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    detail = f"{request.method} {request.url.path}: {error.detail}"
    return Problem(error.status_code, detail, headers=dict(error.headers or {})).answer()


async def _problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)  # noqa: S101 - registered for it
    return error.answer()


@cache
def _read(name: str) -> tuple[bytes, str] | None:
    path = (FILES / name).resolve()
    if not path.is_relative_to(FILES.resolve()) or not path.is_file():
        return None
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return path.read_bytes(), kind


async def _asset(request: Request) -> Response:
    file = _read(f"assets/{request.path_params['file']}")
    if file is None:
        return Problem(404, "file not found").answer()
    return _file_response(request, file, {"Cache-Control": CACHE_FOREVER})


@cache
def _compressed(body: bytes) -> bytes:
    return gzip.compress(body, 9, mtime=0)


def _file_response(request: Request, file: tuple[bytes, str], headers: dict[str, str]) -> Response:
    """The file, compressed to a third if the client accepts gzip."""
    body, media_type = file
    headers = {**headers, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        body, headers = _compressed(body), {**headers, "Content-Encoding": "gzip"}
    return Response(body, media_type=media_type, headers=headers)


class Page:
    """Serves the page for every other path; the page itself decides which view the path names."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def respond(self, request: Request) -> Response:
        sessions = self._service.authenticator.sessions
        token = request.query_params.get("token")
        if sessions is not None and token is not None:
            return self._open_session(request, sessions, token)
        page = self._index()
        if page is None:
            return Problem(
                404, "this installation does not include the web UI", fix="see /openapi.json"
            ).answer()
        return _file_response(request, (page, "text/html"), {"Cache-Control": "no-cache"})

    def _open_session(self, request: Request, sessions: Sessions, token: str) -> Response:
        """Redirect to the same address without the token, which would stay in the browser history."""
        now, is_valid = self._service.now().timestamp(), sessions.accepts(token)
        if not is_valid and not sessions.is_valid(request.cookies.get(sessions.cookie, ""), now):
            return self._reject_token(request)
        address = "/" + request.url.path.lstrip("/\\")
        response = RedirectResponse(address, status_code=303, headers={"Cache-Control": "no-store"})
        if is_valid:
            response.set_cookie(sessions.cookie, sessions.new(now), **COOKIE)
        return response

    def _index(self, **facts: str) -> bytes | None:
        """The page. Facts that it needs before anyone has signed in become attributes of its root."""
        page = _read("index.html")
        command = self._service.command_prefix
        facts = facts if command == "jangar" else {**facts, "command": command}
        if page is None or not facts:
            return page and page[0]
        attributes = "".join(f' data-{name}="{escape(value)}"' for name, value in facts.items())
        return page[0].replace(b"<html", b"<html" + attributes.encode(), 1)

    def _reject_token(self, request: Request) -> Response:
        """The page with instructions for a browser; a problem for a program."""
        page = self._index(refused="token")
        if page is None or "text/html" not in request.headers.get("accept", ""):
            fix = f"{self._service.command('status')} prints the current link"
            return Problem(401, "the token in this link is no longer valid", fix=fix).answer()
        return Response(page, status_code=401, media_type="text/html", headers={"Cache-Control": "no-store"})
