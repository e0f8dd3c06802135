"""A client of a control plane's HTTP API: with a token, a session, or no credentials."""

import http.client
import json
from contextlib import contextmanager
from typing import Any, NamedTuple


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class ControlPlaneClient:
    """One server."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url, token
        self.host = url.removeprefix("http://")

    def request(
        self, method: str, path: str, body: Any = None, *, token: str | None = "", **headers: str
    ) -> Answer:
        """Send a request with the owner's token unless another one, or None, is given."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        try:
            connection.request(method, path, _encoded(body), self._headers(body, token, headers))
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **more: Any) -> Any:
        """A response that must be 200."""
        answer = self.request("GET", path, **more)
        assert answer.status == 200, answer.body
        return answer.json

    @contextmanager
    def events(self, path: str, *, token: str = "", **headers: str):
        """Events as they arrive, without heartbeats: (name, id, data)."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        try:
            connection.request("GET", path, None, self._headers(None, token, headers))
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            yield _events(answer)
        finally:
            connection.close()

    def _headers(self, body: Any, token: str | None, more: dict[str, str]) -> dict[str, str]:
        headers = {name.replace("_", "-"): value for name, value in more.items()}
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        if token is not None:
            headers["Authorization"] = f"Bearer {token or self.token}"
        return headers


def _encoded(body: Any) -> bytes | None:
    return body if body is None or isinstance(body, bytes) else json.dumps(body).encode()


def _events(answer):
    name = number = ""
    for raw in answer:
        line = raw.decode().rstrip("\n")
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("id: "):
            number = line.removeprefix("id: ")
        elif line.startswith("data: ") and name != "heartbeat":
            yield name, number, json.loads(line.removeprefix("data: "))
