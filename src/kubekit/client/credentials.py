"""Credentials of a connection: the TLS context and an Authorization header with a refreshed token."""

import asyncio
import base64
import ssl
import tempfile
from pathlib import Path
from typing import Final

from kubekit.client.connection import Connection, NoConnection

TOKEN_REFRESH_SECONDS: Final = 60.0
"""How long a token from a file or plugin is used before it is read again."""


class Credentials:
    """The Authorization header of a user."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._token = ""
        self._fresh_until = float("-inf")
        self._reading = asyncio.Lock()

    async def authorization(self) -> str:
        """The header value; empty for a user without a token or password."""
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
        """Read the token again for the next request, because the server rejected it."""
        self._fresh_until = float("-inf")

    async def _refresh(self) -> None:
        """Read the token again. If that fails, as while the file is replaced, keep the previous token."""
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
                raise NoConnection(f"cannot get a token: {error}") from error
        self._fresh_until = now + TOKEN_REFRESH_SECONDS


def _read(path: Path) -> str:
    token = path.read_text().strip()
    if not token:
        raise ValueError(f"{path} is empty")
    return token


def tls_context(connection: Connection) -> ssl.SSLContext:
    """A TLS context with the connection's CA, or the system's if it has none, and its client certificate."""
    try:
        authority = connection.authority.decode("ascii") if connection.authority else None
        context = ssl.create_default_context(cadata=authority)
        if connection.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if connection.certificate and connection.key:
            _load_certificate(context, connection.certificate, connection.key)
    except (ssl.SSLError, ValueError, OSError) as error:
        raise NoConnection(f"{connection.server}: cannot use the certificates: {error}") from error
    return context


def _load_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """The ssl module reads certificates only from files; this one is private and deleted at once."""
    with tempfile.NamedTemporaryFile(prefix="jangar-") as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)
