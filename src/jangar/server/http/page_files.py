"""The web page: built files that ship with the package, and the way in by the token in its address."""

import gzip
import mimetypes
from functools import cache
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from jangar.server.http.plane import cookie_form
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
        return Problem(404, "there is no such file").answer()
    return _answer(request, found, {"Cache-Control": FOREVER})


@cache
def _packed(body: bytes) -> bytes:
    """Once for each file, as small as it gets."""
    return gzip.compress(body, 9, mtime=0)


def _answer(request: Request, found: tuple[bytes, str], headers: dict[str, str]) -> Response:
    """Packed for who can unpack it: that is a third of the bytes."""
    body, kind = found
    told = {**headers, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(_packed(body), media_type=kind, headers={**told, "Content-Encoding": "gzip"})
    return Response(body, media_type=kind, headers=told)


class Page:
    """Every path that is no other route's is a view of the page; which one, the page itself knows."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def answer(self, request: Request) -> Response:
        sessions = self._service.doorkeeper.sessions
        token = request.query_params.get("token")
        if sessions is not None and token is not None:
            return self._opened(request, token)
        found = _read("index.html")
        if found is None:
            return Problem(404, "this installation has no web page", fix="see /openapi.json").answer()
        return _answer(request, (found[0], "text/html"), {"Cache-Control": "no-cache"})

    def _opened(self, request: Request, token: str) -> Response:
        """The token leaves the address, so that it stays in no history and no screenshot."""
        sessions = self._service.doorkeeper.sessions
        if sessions is None or not sessions.opens(token):
            fix = "jangar status prints the address with the token of today"
            return Problem(401, "this token is not, or no longer, that of this laptop", fix=fix).answer()
        here = "/" + request.url.path.lstrip("/\\")
        answer = RedirectResponse(here, status_code=303, headers={"Cache-Control": "no-store"})
        session = sessions.new(self._service.now().timestamp())
        answer.set_cookie(sessions.cookie, session, **cookie_form())
        return answer
