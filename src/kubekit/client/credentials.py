"""What a connection shows at the door: a TLS context, and a header that is fresh enough."""

import asyncio
import base64
import ssl
import tempfile
from pathlib import Path
from typing import Final

from kubekit.client.connection import Connection, NoConnection

FRESH: Final = 60.0
"""Seconds for which a token from a file or a plugin is used without looking again."""


class Credentials:
    """The Authorization header of a user."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._token = ""
        self._fresh_until = float("-inf")
        self._reading = asyncio.Lock()

    async def authorization(self) -> str:
        """Empty if the user has none, or shows a certificate."""
        connection = self._connection
        if connection.token_file is not None or connection.fresh_token is not None:
            async with self._reading:
                await self._refresh()
            return f"Bearer {self._token}"
        if connection.token:
            return f"Bearer {connection.token}"
        if connection.user_name:
            pair = f"{connection.user_name}:{connection.password}".encode()
            return f"Basic {base64.b64encode(pair).decode()}"
        return ""

    def distrust(self) -> None:
        """The server did not believe it: look again next time."""
        self._fresh_until = float("-inf")

    async def _refresh(self) -> None:
        """A file that cannot be read just now, as while it is replaced, leaves the token that was good before."""
        now = asyncio.get_running_loop().time()
        if now < self._fresh_until:
            return
        connection = self._connection
        try:
            if connection.fresh_token is not None:
                self._token = await asyncio.to_thread(connection.fresh_token)
            elif connection.token_file is not None:
                self._token = _read(connection.token_file)
        except Exception as error:
            if not self._token:
                raise NoConnection(f"no token: {error}") from error
        self._fresh_until = now + FRESH


def _read(path: Path) -> str:
    token = path.read_text().strip()
    if not token:
        raise ValueError(f"{path} is empty")
    return token


def tls_context(connection: Connection) -> ssl.SSLContext:
    """Trust the connection's authority, or the system's where it names none; show its certificate."""
    try:
        authority = connection.authority.decode("ascii") if connection.authority else None
        context = ssl.create_default_context(cadata=authority)
        if connection.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if connection.certificate and connection.key:
            _show(context, connection.certificate, connection.key)
    except (ssl.SSLError, ValueError, OSError) as error:
        raise NoConnection(f"{connection.server}: the certificates cannot be used: {error}") from error
    return context


def _show(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """The ssl module reads certificates from files only; this one is readable by its owner and gone at once."""
    with tempfile.NamedTemporaryFile(prefix="jangar-") as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)
