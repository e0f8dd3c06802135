"""What the local control plane serves besides the Kubernetes API, and on which ports: the web page and its own state.

The socket of the web page listens from the start, but the page's code is imported on the first request: `jangar up`
starts faster, and a page that is never opened costs nothing.
"""

import asyncio
import errno
import hmac
import logging
import os
import secrets
import shlex
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import orjson
import yaml

from jangar.processes.data_directory import STATE_PATH, DataDirectory
from jangar.settings.control_plane import ControlPlaneSettings
from jangar.settings.controllers import controller_settings
from jangar.store.urls import SqliteFile
from kubekit.cache.namespaces import Namespaces
from kubekit.client.asgi_transport import App, AsgiTransport, Message
from kubekit.private_files import write_private
from kubekit.serving.listening import listen_on_option, listening
from kubekit.serving.readiness import Parts, Receive, Send, send_response
from picokube import Running

log = logging.getLogger("jangar.laptop")

MIN_TOKEN_LENGTH: Final = 32
HOST: Final = "127.0.0.1"
API_PORT: Final = 7443
PAGE_PORT: Final = 7480
PORT_COUNT: Final = 10
"""Consecutive ports to try; each data directory gets its own."""


def api_listener(port: int | None, kubeconfig: Path) -> socket.socket:
    """Listen on the given port, or the one in the kubeconfig, or the first free one. Raises PortTaken."""
    if port is not None:
        return listen_on_option(HOST, port, "--port, or omit it to use a free port")
    return _listen_on_first(port_in(kubeconfig), API_PORT)


def port_in(kubeconfig: Path) -> int | None:
    """The server port in the kubeconfig; None if it cannot be read."""
    try:
        config = yaml.load(kubeconfig.read_text(), Loader=yaml.CSafeLoader)
        return urlsplit(str(config["clusters"][0]["cluster"]["server"])).port
    except (OSError, yaml.YAMLError, KeyError, IndexError, TypeError, ValueError):
        return None


def _listen_on_first(last: int | None, first: int) -> socket.socket:
    """Listen on the last port, which keeps clients and bookmarks working, or on the first free one."""
    for port in (*(() if last is None else (last,)), *range(first, first + PORT_COUNT)):
        try:
            return listening(HOST, port)
        except OverflowError:
            continue
        except OSError as error:
            if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
                raise
    return listening(HOST, 0)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The listening socket, token and directories of the web page."""

    listener: socket.socket
    token: str
    directory: Path
    tails: Path
    history: SqliteFile

    @classmethod
    def of(cls, place: DataDirectory, port: int | None = None) -> "Page":
        """Listen on the given port, or the last one, or a free one. Raises PortTaken if the given port is in use."""
        if port is None:
            last = place.page_port.read_text().strip() if place.page_port.exists() else ""
            listener = _listen_on_first(int(last) if last.isdecimal() else None, PAGE_PORT)
        else:
            listener = listen_on_option(HOST, port, "--web-port, or omit it to use a free port")
        write_private(place.page_port, str(listener.getsockname()[1]))
        return cls(
            listener=listener,
            token=_token(place.page_token),
            directory=place.directory,
            tails=place.directory / "log-tails",
            history=SqliteFile(place.history),
        )

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"


def _token(path: Path) -> str:
    """The token that opens the page. A truncated file, as after a full disk, would be guessable: replace it."""
    token = path.read_text().strip() if path.exists() else ""
    if len(token) < MIN_TOKEN_LENGTH:
        token = secrets.token_urlsafe(MIN_TOKEN_LENGTH)
        write_private(path, token)
    return token


@asynccontextmanager
async def page_served(
    page: Page, server: Running, *, parts: Parts, metrics: Callable[[], bytes]
) -> AsyncIterator[None]:
    """Serve the page while the block runs. A failure is logged and affects nothing else."""
    stop = asyncio.Event()
    task = asyncio.create_task(_serve(page, server, parts, metrics, stop), name="page")
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(task, return_exceptions=True)
        page.listener.close()


async def _serve(
    page: Page, server: Running, parts: Parts, metrics: Callable[[], bytes], stop: asyncio.Event
) -> None:
    if not await _wait_for_request(page.listener, stop):
        return
    try:
        # The import takes long enough to block the loop.
        await asyncio.to_thread(_load)
        from jangar.processes.control_plane import ApiAccess, FrontendSettings, http_frontend  # noqa: PLC0415 - heavy
        from jangar.server.http.guards import AllowedHosts  # noqa: PLC0415
        from jangar.server.http.identity import MANAGER, Sessions  # noqa: PLC0415
        from jangar.server.http.service import HistoryKept  # noqa: PLC0415

        settings = controller_settings(os.environ)
        own = AsgiTransport(server.application, token=server.token, user_agent=MANAGER)
        access = ApiAccess(
            own=own,
            caller=lambda token: AsgiTransport(server.application, token=token, user_agent=MANAGER),
        )
        frontend = FrontendSettings(
            parts=parts,
            namespaces=Namespaces.every(),
            metrics=metrics,
            tails=page.tails,
            history=page.history,
            audit_retention=ControlPlaneSettings().audit_retention.duration,
            command_prefix=command_prefix(page.directory, os.environ),
            history_kept=HistoryKept(
                record=settings.history_retention.duration, log_tail=settings.log_retention.duration
            ),
        )
        sessions = Sessions(page.token, f"jangar-session-{page.port}")
        async with http_frontend(
            access, frontend, page.listener, AllowedHosts.loopback(page.port), sessions=sessions
        ):
            await stop.wait()
        await own.close()
    except Exception:
        log.exception("web page failed")


def command_prefix(directory: Path, environment: Mapping[str, str]) -> str:
    """The CLI command that targets the instance in this directory from any shell of its owner."""
    is_default = directory == DataDirectory.of(None, {**environment, "JANGAR_DATA_DIR": ""}).directory
    return "jangar" if is_default else f"jangar --data-dir {shlex.quote(str(directory))}"


def _load() -> None:
    import jangar.processes.control_plane  # noqa: F401, PLC0415 - heavy


async def _wait_for_request(listener: socket.socket, stop: asyncio.Event) -> bool:
    """Wait for the first connection, without accepting it; False if the process stops first."""
    loop, connected = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(listener, connected.set)
    waiting = [asyncio.create_task(event.wait()) for event in (connected, stop)]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        loop.remove_reader(listener)
        for task in waiting:
            task.cancel()
    return not stop.is_set()
