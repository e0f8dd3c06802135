"""Serves /readyz for all components of a process, next to its application."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Final
from urllib.parse import parse_qs

from kubekit.client.asgi_transport import App, Message

READY_PATH: Final = "/readyz"

Parts = Callable[[], Mapping[str, Sequence[str]]]
"""Returns the problems of each component by name; empty if it is ready."""
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


def with_readiness(kubernetes: App, parts: Parts) -> App:
    """The API with a /readyz that returns 503 until every component is ready."""

    async def respond(scope: Message, receive: Receive, send: Send) -> None:
        if scope["path"] != READY_PATH or scope["method"] != "GET":
            await kubernetes(scope, receive, send)
            return
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        status, text = readiness(parts(), verbose="verbose" in query, excluded=query.get("exclude", ()))
        await send_response(send, status, text.encode(), b"text/plain; charset=utf-8")

    return respond


def readiness(
    parts: Mapping[str, Sequence[str]], *, verbose: bool, excluded: Collection[str] = ()
) -> tuple[int, str]:
    """Status and text of /readyz in the format of kube-apiserver, always with the reasons."""
    is_ready = not any(problems for name, problems in parts.items() if name not in excluded)
    if is_ready and not verbose:
        return 200, "ok"
    lines = [
        f"[+]{name} excluded: ok"
        if name in excluded
        else f"[-]{name} failed: {'; '.join(problems)}"
        if problems
        else f"[+]{name} ok"
        for name, problems in parts.items()
    ]
    lines.append("readyz check passed" if is_ready else "readyz check failed")
    return (200 if is_ready else 503), "\n".join(lines) + "\n"


async def send_response(send: Send, status: int, body: bytes, kind: bytes) -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
