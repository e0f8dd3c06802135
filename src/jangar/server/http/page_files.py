"""The web page: built files that ship with the package, and the way in by the token in its address."""

import gzip
import mimetypes
from functools import cache
from html import escape
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from jangar.server.http.control_plane_routes import cookie_form
from jangar.server.http.identity import Sessions
from jangar.server.http.problems import Problem
from jangar.server.http.service import Service

FILES: Final = Path(__file__).parents[1] / "web"
FOREVER: Final = "public, max-age=31536000, immutable"
"""The names of assets hold their hash."""


@cache
def _read(name: str) -> tuple[bytes, str] | None:
    path = (FILES / name).resolve()
    if not path.is_relative_to(FILES.resolve()) or not path.is_file():
        return None
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return path.read_bytes(), kind


async def asset(request: Request) -> Response:
    found = _read(f"assets/{request.path_params['file']}")
    if found is None:
        return Problem(404, "file not found").answer()
    return _answer(request, found, {"Cache-Control": FOREVER})


@cache
def _packed(body: bytes) -> bytes:
    """Once for each file, as small as it gets."""
    return gzip.compress(body, 9, mtime=0)


def _answer(request: Request, found: tuple[bytes, str], headers: dict[str, str]) -> Response:
    """Packed for who can unpack it: that is a third of the bytes."""
    body, kind = found
    reported = {**headers, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(_packed(body), media_type=kind, headers={**reported, "Content-Encoding": "gzip"})
    return Response(body, media_type=kind, headers=reported)


class Page:
    """Every path that is no other route's is a view of the page; which one, the page itself knows."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def answer(self, request: Request) -> Response:
        sessions = self._service.doorkeeper.sessions
        token = request.query_params.get("token")
        if sessions is not None and token is not None:
            return self._opened(request, sessions, token)
        found = self._index()
        if found is None:
            return Problem(
                404, "this installation does not include the web UI", fix="see /openapi.json"
            ).answer()
        return _answer(request, (found, "text/html"), {"Cache-Control": "no-cache"})

    def _opened(self, request: Request, sessions: Sessions, token: str) -> Response:
        """The token leaves the address, so that it stays in no history and no screenshot."""
        now, is_valid = self._service.now().timestamp(), sessions.opens(token)
        if not is_valid and not sessions.is_ours(request.cookies.get(sessions.cookie, ""), now):
            return self._refused(request)
        here = "/" + request.url.path.lstrip("/\\")
        answer = RedirectResponse(here, status_code=303, headers={"Cache-Control": "no-store"})
        if is_valid:
            answer.set_cookie(sessions.cookie, sessions.new(now), **cookie_form())
        return answer

    def _index(self, **facts: str) -> bytes | None:
        """The page, with what it must know before anybody is signed in as attributes of its root."""
        page = _read("index.html")
        command = self._service.command_prefix
        reported = facts if command == "jangar" else {**facts, "command": command}
        if page is None or not reported:
            return page and page[0]
        attributes = "".join(f' data-{name}="{escape(value)}"' for name, value in reported.items())
        return page[0].replace(b"<html", b"<html" + attributes.encode(), 1)

    def _refused(self, request: Request) -> Response:
        """For a browser the page, which says what to do; for a program a problem."""
        page = self._index(refused="token")
        if page is None or "text/html" not in request.headers.get("accept", ""):
            fix = f"{self._service.command('status')} prints the current link"
            return Problem(401, "the token in this link is no longer valid", fix=fix).answer()
        return Response(page, status_code=401, media_type="text/html", headers={"Cache-Control": "no-store"})
