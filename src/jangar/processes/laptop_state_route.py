"""Serves the state of the laptop process beside the Kubernetes API, for its administrator."""

import hmac
from collections.abc import Callable
from typing import Final

import orjson

from kubekit.client.asgi_transport import App, Message
from kubekit.serving.readiness import Parts, Receive, Send, send_response

STATE_PATH: Final = "/jangar/state"


def with_state(kubernetes: App, parts: Parts, token: Callable[[], str]) -> App:
    """The API, and for its administrator the state of the process."""

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        if scope["path"] != STATE_PATH:
            await kubernetes(scope, receive, send)
            return
        known = f"Bearer {token()}".encode()
        is_admin = any(
            name.lower() == b"authorization" and hmac.compare_digest(value, known)
            for name, value in scope["headers"]
        )
        status, said = (200, {"parts": parts()}) if is_admin else (401, {"message": "Unauthorized"})
        await send_response(send, status, orjson.dumps(said), b"application/json")

    return answer
