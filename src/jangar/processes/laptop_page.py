"""The web page of a laptop: its socket listens from the start, and what answers is loaded when somebody first asks.

So that `jangar up` starts no later for it, and who never opens it pays nothing. Plain HTTP, on loopback alone.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import shlex
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jangar.processes.data_directory import DataDirectory
from jangar.processes.laptop_port import HOST
from jangar.settings.control_plane_table import AUDIT_RETENTION
from jangar.settings.controllers import controller_settings
from jangar.store.urls import SqliteFile
from kubekit.cache.namespaces import Namespaces
from kubekit.client.asgi_transport import AsgiTransport
from kubekit.private_files import write_private
from kubekit.serving.listening import listening, listening_as_asked
from picokube import Running

if TYPE_CHECKING:
    from jangar.server.http.service import Parts

log = logging.getLogger("jangar.laptop")

MIN_TOKEN: Final = 32
FIRST: Final = 7480
SEVERAL: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A socket that listens, and what opens the page."""

    listener: socket.socket
    token: str
    directory: Path
    tails: Path
    history: SqliteFile

    @classmethod
    def of(cls, place: DataDirectory, asked: int | None = None) -> "Page":
        """On the port asked for, else that of the last time where that is free; the token is made once.

        Raises PortTaken for a port that was asked for.
        """
        listener = (
            _listener(place.page_port)
            if asked is None
            else listening_as_asked(HOST, asked, "--web-port, or leave it out for one that is free")
        )
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
    """What opens the page. A file that was cut short, as on a full disk, would open it to anybody: it is made anew."""
    known = path.read_text().strip() if path.exists() else ""
    if len(known) < MIN_TOKEN:
        known = secrets.token_urlsafe(MIN_TOKEN)
        write_private(path, known)
    return known


def _listener(remembered: Path) -> socket.socket:
    last = remembered.read_text().strip() if remembered.exists() else ""
    for port in (*([int(last)] if last.isdecimal() else ()), *range(FIRST, FIRST + SEVERAL)):
        with contextlib.suppress(OSError, OverflowError):
            return listening(HOST, port)
    return listening(HOST, 0)


@asynccontextmanager
async def page_served(
    page: Page, server: Running, *, parts: "Parts", metrics: Callable[[], bytes]
) -> AsyncIterator[None]:
    """While the block runs. A page that cannot be served is told in the log, and stops nothing else."""
    stop = asyncio.Event()
    task = asyncio.create_task(_served(page, server, parts, metrics, stop), name="page")
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(task, return_exceptions=True)
        page.listener.close()


async def _served(
    page: Page, server: Running, parts: "Parts", metrics: Callable[[], bytes], stop: asyncio.Event
) -> None:
    if not await _asked(page.listener, stop):
        return
    try:
        # In a thread: the loop has work to do.
        await asyncio.to_thread(_load)
        from jangar.processes.control_plane import Facts, Way, face  # noqa: PLC0415 - heavy
        from jangar.server.http.guards import AllowedHosts  # noqa: PLC0415
        from jangar.server.http.identity import MANAGER, Sessions  # noqa: PLC0415
        from jangar.server.http.service import HistoryKept  # noqa: PLC0415

        settings = controller_settings(os.environ)
        own = AsgiTransport(server.application, token=server.token, user_agent=MANAGER)
        way = Way(
            own=own,
            caller=lambda token: AsgiTransport(server.application, token=token, user_agent=MANAGER),
        )
        facts = Facts(
            parts=parts,
            namespaces=Namespaces.every(),
            metrics=metrics,
            tails=page.tails,
            history=page.history,
            audit_retention=AUDIT_RETENTION.default.duration,
            command_prefix=command_prefix(page.directory, os.environ),
            history_kept=HistoryKept(
                record=settings.history_retention.duration, log_tail=settings.log_retention.duration
            ),
        )
        sessions = Sessions(page.token, f"jangar-session-{page.port}")
        async with face(way, facts, page.listener, AllowedHosts.loopback(page.port), sessions=sessions):
            await stop.wait()
        await own.close()
    except Exception:
        log.exception("the web page cannot be served")


def command_prefix(directory: Path, environment: Mapping[str, str]) -> str:
    """How the command line is called for the instance in this directory, from any shell of its owner."""
    is_default = directory == DataDirectory.of(None, {**environment, "JANGAR_DATA_DIR": ""}).directory
    return "jangar" if is_default else f"jangar --data-dir {shlex.quote(str(directory))}"


def _load() -> None:
    import jangar.processes.control_plane  # noqa: F401, PLC0415 - heavy


async def _asked(listener: socket.socket, stop: asyncio.Event) -> bool:
    """Whether somebody knocked before the end. They are let in by what is loaded then."""
    loop, knocked = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(listener, knocked.set)
    waiting = [asyncio.create_task(each.wait()) for each in (knocked, stop)]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        loop.remove_reader(listener)
        for each in waiting:
            each.cancel()
    return not stop.is_set()
