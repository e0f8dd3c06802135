"""The process `jangar apiserver`: the embedded Kubernetes API over TLS, its data in one directory."""

import asyncio
import json
import logging
import secrets
import signal
import socket
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import uvicorn

from jangar.apiserver.app import Application
from jangar.apiserver.authentication import Authenticator
from jangar.apiserver.builtin import built_in_types
from jangar.apiserver.certificates import Certificates, ensure_certificates
from jangar.apiserver.collector import Collector
from jangar.apiserver.custom_resources import CustomResources
from jangar.apiserver.dispatch import Dispatcher
from jangar.apiserver.handlers.log import log_handler
from jangar.apiserver.kubeconfig import write_kubeconfig
from jangar.apiserver.messages import User
from jangar.apiserver.namespace_life import NamespaceLife
from jangar.apiserver.protobuf import decode
from jangar.apiserver.registry import Registry
from jangar.apiserver.serving import Serving
from jangar.apiserver.storage.compaction import Compactor
from jangar.apiserver.storage.sqlite_store import SqliteStore
from jangar.apiserver.storage.store import Key
from jangar.apiserver.strategies.custom_types import resource_types_of

log = logging.getLogger("jangar.apiserver")

SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
ADMIN = User(name="jangar-admin", groups=("system:masters",))
HOSTS = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServerSettings:
    """Where the server listens and keeps its data."""

    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 0
    kubeconfig: Path | None = None
    plain_http: bool = False
    bare: bool = False
    """New namespaces get no root certificate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A server that answers."""

    url: str
    kubeconfig: Path
    dispatcher: Dispatcher


async def serve(settings: ApiServerSettings) -> None:
    """Serve until a signal asks to stop."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop.set)
    async with running(settings) as server:
        print(f"serving the Kubernetes API at {server.url}", flush=True)  # noqa: T201 - what the user waits for
        print(f"export KUBECONFIG={server.kubeconfig}", flush=True)  # noqa: T201
        await stop.wait()


@asynccontextmanager
async def running(settings: ApiServerSettings) -> AsyncIterator[Running]:
    """A server within this process, and its end."""
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    store = SqliteStore.open(settings.data_dir / "objects.db")
    token, tokens = _tokens(settings.data_dir)
    serving = _serving(store, tokens)
    certificates = None
    if not settings.plain_http:
        hosts = tuple(dict.fromkeys((*HOSTS, settings.host)))
        certificates = ensure_certificates(settings.data_dir / "tls", hosts, now=datetime.now(UTC))
    dispatcher = Dispatcher(
        serving,
        Authenticator(tokens, everybody=ADMIN if settings.plain_http else None),
        {("pods", "log"): {"GET": log_handler(settings.data_dir / "pod-logs")}},
    )
    custom = CustomResources(serving, resource_types_of)
    authority = certificates.authority.read_text() if certificates and not settings.bare else None
    namespaces = NamespaceLife(serving, authority=authority)
    followers = (custom, namespaces, Collector(serving), Compactor(store))
    listener = socket.create_server((settings.host, settings.port), backlog=2048)
    server = _uvicorn(dispatcher, certificates)
    scheme = "http" if settings.plain_http else "https"
    url = f"{scheme}://{settings.host}:{listener.getsockname()[1]}"
    kubeconfig = settings.kubeconfig or settings.data_dir / "kubeconfig"
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(follower.run(), name=type(follower).__name__) for follower in followers]
        answering = group.create_task(server.serve(sockets=[listener]), name="uvicorn")
        await _started(server)
        write_kubeconfig(
            kubeconfig, server=url, token=token, authority=certificates.authority if certificates else None
        )
        try:
            yield Running(url=url, kubeconfig=kubeconfig, dispatcher=dispatcher)
        finally:
            server.should_exit = True
            await answering
            for task in tasks:
                task.cancel()
    await store.close()


def _serving(store: SqliteStore, tokens: Mapping[str, User]) -> Serving:
    def find(resource: str, namespace: str, name: str) -> dict[str, Any] | None:
        stored = store.get(Key(resource, namespace, name))
        return orjson.loads(stored.data) if stored is not None else None

    return Serving(
        store=store,
        registry=Registry(built_in_types(find, tokens.get)),
        clock=lambda: datetime.now(UTC),
        new_uid=lambda: str(uuid.uuid4()),
        new_suffix=lambda: "".join(secrets.choice(SUFFIX_ALPHABET) for _ in range(5)),
        protobuf=decode,
    )


def _tokens(directory: Path) -> tuple[str, dict[str, User]]:
    """The administrator's token, made once; others may be added to the file `tokens.json` by hand."""
    path = directory / "tokens.json"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(json.dumps({secrets.token_urlsafe(32): {"user": ADMIN.name, "groups": ADMIN.groups}}))
    known = json.loads(path.read_text())
    users = {
        token: User(name=each["user"], groups=tuple(each.get("groups") or ()), uid=each.get("uid", ""))
        for token, each in known.items()
    }
    return next(iter(users)), users


def _uvicorn(dispatcher: Dispatcher, certificates: Certificates | None) -> uvicorn.Server:
    config = uvicorn.Config(
        Application(dispatcher, _report),
        http="httptools",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        timeout_graceful_shutdown=2,
        timeout_keep_alive=75,
        ssl_certfile=str(certificates.certificate) if certificates else None,
        ssl_keyfile=str(certificates.key) if certificates else None,
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    return server


async def _started(server: uvicorn.Server) -> None:
    """Uvicorn tells only by a flag."""
    while not server.started:  # noqa: ASYNC110
        await asyncio.sleep(0.005)


def _report(error: Exception) -> None:
    log.error("a request could not be answered", exc_info=error)
