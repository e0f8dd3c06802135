"""Serves the state of `jangar up` to administrators, next to the Kubernetes API."""

import hmac
from collections.abc import Callable
from typing import Final

import orjson

from kubekit.client.asgi_transport import App, Message
from kubekit.serving.readiness import Parts, Receive, Send, send_response

STATE_PATH: Final = "/jangar/state"


def with_state(kubernetes: App, parts: Parts, token: Callable[[], str]) -> App:
    """The Kubernetes API with a route that returns the state of the process to its administrator."""

    async def respond(scope: Message, receive: Receive, send: Send) -> None:
        if scope["path"] != STATE_PATH:
            await kubernetes(scope, receive, send)
            return
        expected = f"Bearer {token()}".encode()
        is_admin = any(
            name.lower() == b"authorization" and hmac.compare_digest(value, expected)
            for name, value in scope["headers"]
        )
        status, body = (200, {"parts": parts()}) if is_admin else (401, {"message": "Unauthorized"})
        await send_response(send, status, orjson.dumps(body), b"application/json")

    return respond
