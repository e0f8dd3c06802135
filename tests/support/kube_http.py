"""HTTP for tests: one request, its status, headers and body; and a watch read line by line.

Standard library only, so that no client library normalizes a response.
"""

import http.client
import json
import socket
import ssl
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlsplit

DEADLINE = 30.0
_SAFE = "/?=&,:!%~-_.*'@$;"


class TooLate(AssertionError):
    """The server did not send the expected data before the deadline."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    content: bytes

    @cached_property
    def body(self) -> Any:
        """Parsed if it is JSON, text otherwise; None if there is none."""
        if not self.content:
            return None
        if "json" in self.headers.get_content_type():
            return json.loads(self.content)
        return self.content.decode(errors="backslashreplace")

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


@dataclass(kw_only=True)
class HttpClient:
    """Requests over one persistent connection. Not shared between threads."""

    url: str
    token: str | None = None
    ca: Path | None = None
    _kept: http.client.HTTPConnection | None = field(default=None, repr=False)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        *,
        seconds: float = DEADLINE,
    ) -> Answer:
        for attempt in (1, 2):
            connection, is_fresh = self._connection(seconds)
            try:
                connection.request(method, quoted(path), body, self._headers(headers))
                with connection.getresponse() as response:
                    content = response.read()
                return Answer(status=response.status, headers=response.headers, content=content)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                self.close()  # the server may have closed an idle connection between two requests
                if is_fresh or attempt == 2:
                    raise
            except TimeoutError as error:
                self.close()
                raise TooLate(f"{method} {path}: no answer within {seconds:.0f} s") from error
            except (http.client.HTTPException, OSError):
                self.close()
                raise
        raise AssertionError("unreachable")

    def stream(
        self, path: str, headers: dict[str, str] | None = None, *, seconds: float = DEADLINE
    ) -> "Stream":
        """Open a watch on its own connection. It has started when this returns."""
        connection = self._connect(seconds)
        try:
            connection.request("GET", quoted(path), headers=self._headers(headers))
            return Stream(connection, connection.getresponse(), path)
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _connection(self, seconds: float) -> tuple[http.client.HTTPConnection, bool]:
        if self._kept is not None and self._kept.sock is not None:
            self._kept.sock.settimeout(seconds)
            return self._kept, False
        self._kept = self._connect(seconds)
        return self._kept, True

    def _connect(self, seconds: float) -> http.client.HTTPConnection:
        address = urlsplit(self.url)
        if address.scheme == "http":
            return http.client.HTTPConnection(address.hostname, address.port, timeout=seconds)
        return http.client.HTTPSConnection(
            address.hostname, address.port, timeout=seconds, context=self._trust
        )

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.ca) if self.ca else None)

    def _headers(self, given: dict[str, str] | None) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return {name: value for name, value in {**headers, **(given or {})}.items() if value}


class Stream:
    """A watch: JSON lines, each with a deadline."""

    def __init__(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse, path: str
    ) -> None:
        self._connection = connection
        # The response may own the socket (Connection: close), so it is kept from here.
        self._socket: socket.socket | None = connection.sock
        self._response = response
        self.path = path
        self.status = response.status
        self.headers = response.headers

    def next(self, *, seconds: float = DEADLINE) -> Any | None:
        """The next line, parsed; None at the end of the stream."""
        if self._socket is not None:
            self._socket.settimeout(seconds)
        try:
            line = self._response.readline()
        except TimeoutError as error:
            raise TooLate(f"watch {self.path}: nothing within {seconds:.0f} s") from error
        return json.loads(line) if line.strip() else None

    def rest(self, *, seconds: float = DEADLINE) -> list[Any]:
        """All lines until the server ends the stream."""
        deadline, events = time.monotonic() + seconds, []
        while (event := self.next(seconds=max(deadline - time.monotonic(), 0.01))) is not None:
            events.append(event)
        return events

    def text(self) -> bytes:
        return self._response.read()

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def quoted(path: str) -> str:
    """Percent-encode a readable path: spaces, brackets and quotes; existing escapes stay."""
    return quote(path, safe=_SAFE)
