"""A non-blocking connection to an agent that exchanges one JSON document per line."""

import json
import socket
from collections.abc import Iterator
from typing import Any

CHUNK = 256 * 1024


class Connection:
    """Buffers messages that can't be sent yet."""

    def __init__(self, peer: socket.socket) -> None:
        peer.setblocking(False)
        self._peer = peer
        self._in = b""
        self._out = bytearray()
        self.fd = peer.fileno()
        self.is_closed = False
        self.wants_to_write = False

    def send(self, message: dict[str, Any]) -> None:
        self._out += json.dumps(message, separators=(",", ":")).encode() + b"\n"

    def receive(self) -> Iterator[dict[str, Any]]:
        try:
            data = self._peer.recv(CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self.is_closed = True
            return
        *lines, self._in = (self._in + data).split(b"\n")
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                self.is_closed = True

    def flush(self) -> bool:
        """Send as much as possible. Whether data remains."""
        while self._out and not self.is_closed:
            try:
                del self._out[: self._peer.send(self._out)]
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                self.is_closed = True
        return bool(self._out)

    def close(self) -> None:
        self._peer.close()
