"""Runs the API server within a process: over TLS, with its data in one directory."""

import asyncio
import json
import logging
import secrets
import socket
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from httptools import HttpParserInvalidMethodError

from kubekit.client.asgi_transport import App
from kubekit.private_files import private_directory, write_private
from kubekit.serving.http_server import BoundedProtocol, HttpServer, http_server
from kubekit.serving.listening import listen_on_option
from kubekit.serving.readiness import with_readiness
from kubekit.steady_clock import SteadyClock
from picokube.apiserver.assembly import ServerEnvironment, assemble
from picokube.apiserver.auth.certificates import ensure_certificates
from picokube.apiserver.auth.kubeconfig import write_kubeconfig
from picokube.apiserver.http.app import Application
from picokube.apiserver.http.dispatch import Dispatcher, refusal
from picokube.apiserver.protocol.errors import method_not_allowed
from picokube.apiserver.protocol.messages import User
from picokube.apiserver.storage.compaction import CompactionPolicy, Compactor
from picokube.apiserver.storage.sqlite_store import SqliteStore
from picokube.apiserver.storage.store import StoreSettings

log = logging.getLogger("picokube.apiserver")

SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
OWN_FILES = ("objects.db", "tokens.json", "kubeconfig")
MASTERS = "system:masters"
HOSTS = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServerSettings:
    """Where the server listens and keeps its data."""

    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 0
    kubeconfig: Path | None = None
    admin: str = "jangar-admin"
    """Name of the administrator; its token is created with the data."""
    plain_http: bool = False
    bare: bool = False
    """Leave out what kube-controller-manager does: root certificates, and removing the finalizers of deleted claims."""
    storage: StoreSettings | None = None
    compaction: CompactionPolicy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A running server."""

    url: str
    kubeconfig: Path
    dispatcher: Dispatcher
    application: Application
    """For callers within this process, without a socket."""
    token: str
    """The token of the administrator."""
    storage_problems: Callable[[], list[str]]
    """Why writes are refused at the moment, as sentences."""


Front = Callable[[Application], App]
"""Wraps the Kubernetes application into the one that answers on the socket."""


@asynccontextmanager
async def running(
    settings: ApiServerSettings,
    *,
    listener: socket.socket | None = None,
    front: Front | None = None,
    clock: SteadyClock | None = None,
) -> AsyncIterator[Running]:
    """Run a server in this process. A given listener replaces host and port.

    A given clock is shared with the caller, so that timestamps are comparable.
    """
    own_clock = SteadyClock()
    private_directory(settings.data_dir, OWN_FILES)
    store = SqliteStore.open(settings.data_dir / "objects.db", settings.storage)
    token, tokens = _tokens(settings.data_dir, settings.admin)
    certificates = None
    if not settings.plain_http:
        hosts = tuple(dict.fromkeys((*HOSTS, settings.host)))
        certificates = ensure_certificates(settings.data_dir / "tls", hosts, now=_now())
    assembly = await assemble(
        store,
        ServerEnvironment(
            directory=settings.data_dir,
            clock=(clock or own_clock).now,
            new_uid=lambda: str(uuid.uuid4()),
            new_suffix=lambda: "".join(secrets.choice(SUFFIX_ALPHABET) for _ in range(5)),
            tokens=tokens,
            tokenless_user=User(name=settings.admin, groups=(MASTERS,)) if settings.plain_http else None,
            authority=certificates.authority.read_text() if certificates else None,
            bare=settings.bare,
        ),
    )
    followers = (*assembly.followers, Compactor(store, settings.compaction))
    listener = listener or listen_on_option(settings.host, settings.port, "--port")
    application = Application(assembly.dispatcher, _report)

    def storage_problems() -> list[str]:
        return [] if store.failure is None else [str(store.failure)]

    if front is None:
        front = partial(with_readiness, parts=lambda: {"ping": (), "storage": storage_problems()})
    server = http_server(
        front(application),
        protocol=KubernetesProtocol,
        certificate=certificates.certificate if certificates else None,
        key=certificates.key if certificates else None,
    )
    scheme = "http" if settings.plain_http else "https"
    url = f"{scheme}://{settings.host}:{listener.getsockname()[1]}"
    kubeconfig = settings.kubeconfig or settings.data_dir / "kubeconfig"
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(follower.run(), name=type(follower).__name__) for follower in followers]
        if clock is None:
            tasks.append(group.create_task(own_clock.run(), name="clock"))
        answering = group.create_task(server.serve(sockets=[listener]), name="uvicorn")
        await _started(server)
        write_kubeconfig(
            kubeconfig,
            server=url,
            token=token,
            authority=certificates.authority if certificates else None,
            directory=settings.data_dir,
        )
        try:
            yield Running(
                url=url,
                kubeconfig=kubeconfig,
                dispatcher=assembly.dispatcher,
                application=application,
                token=token,
                storage_problems=storage_problems,
            )
        finally:
            server.should_exit = True
            application.end_streams()
            await answering
            for task in tasks:
                task.cancel()
    await store.close()


def _now() -> datetime:
    return datetime.now(UTC)


def _tokens(directory: Path, admin: str) -> tuple[str, dict[str, User]]:
    """The token of the administrator, created once, and all users of `tokens.json`, which may be edited."""
    path = directory / "tokens.json"
    if not path.exists() or not path.stat().st_size:
        # A full disk may have left an empty file.
        made = {secrets.token_urlsafe(32): {"user": admin, "groups": [MASTERS]}}
        write_private(path, json.dumps(made))
    known = json.loads(path.read_text())
    users = {
        token: User(name=item["user"], groups=tuple(item.get("groups") or ()), uid=item.get("uid", ""))
        for token, item in known.items()
    }
    return next(iter(users)), users


async def _started(server: HttpServer) -> None:
    """Wait until uvicorn has started: it only sets a flag."""
    while not server.started:  # noqa: ASYNC110
        await asyncio.sleep(0.005)


def _report(error: Exception) -> None:
    log.error("request failed", exc_info=error)


class KubernetesProtocol(BoundedProtocol):
    """A bounded connection whose refusals are Status objects."""

    def send_400_response(self, msg: str) -> None:
        # Called while the parser's error is handled; only that error has the cause.
        if not isinstance(sys.exception(), HttpParserInvalidMethodError):
            super().send_400_response(msg)
            return
        answer = refusal(method_not_allowed())
        head = (
            f"HTTP/1.1 {answer.status} Method Not Allowed\r\ncontent-type: {answer.content_type}\r\n"
            f"content-length: {len(answer.body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + answer.body)
        self.transport.close()
