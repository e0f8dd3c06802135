"""What the laptop's process answers beside the Kubernetes API, on the same socket: how its parts are."""

import hmac
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import orjson

from jangar.kube.asgi_transport import App, Message

STATE_PATH: Final = "/jangar/state"

Parts = Callable[[], Mapping[str, Sequence[str]]]
"""By name what is wrong with each part, as sentences; nothing if it is well."""


def with_state(kubernetes: App, parts: Parts, token: Callable[[], str]) -> App:
    """The API, and for its administrator the state of the process."""

    async def answer(
        scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        if scope["path"] != STATE_PATH:
            await kubernetes(scope, receive, send)
            return
        known = f"Bearer {token()}".encode()
        is_admin = any(
            name.lower() == b"authorization" and hmac.compare_digest(value, known)
            for name, value in scope["headers"]
        )
        status, said = (200, {"parts": parts()}) if is_admin else (401, {"message": "Unauthorized"})
        body = orjson.dumps(said)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answer
