"""The process `jangar apiserver`: the embedded Kubernetes API over TLS, its data in one directory."""

import asyncio
import gc
import json
import logging
import secrets
import signal
import socket
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import orjson
import uvicorn

from jangar.apiserver.access import Access
from jangar.apiserver.account_tokens import AccountTokens
from jangar.apiserver.app import Application
from jangar.apiserver.authentication import Authenticator
from jangar.apiserver.authorization import Authorizer
from jangar.apiserver.builtin import built_in_types
from jangar.apiserver.certificates import Certificates, ensure_certificates
from jangar.apiserver.claim_protection import ClaimProtection
from jangar.apiserver.collector import Collector
from jangar.apiserver.custom_resources import CustomResources
from jangar.apiserver.definition_life import DefinitionLife
from jangar.apiserver.dispatch import Dispatcher
from jangar.apiserver.first_roles import ensure_first_roles
from jangar.apiserver.handlers.log import log_handler
from jangar.apiserver.handlers.placing import bind_pod, evict_pod
from jangar.apiserver.handlers.token import token_handler
from jangar.apiserver.kubeconfig import write_kubeconfig
from jangar.apiserver.messages import User
from jangar.apiserver.namespace_life import NamespaceLife
from jangar.apiserver.protobuf import decode
from jangar.apiserver.registry import Registry
from jangar.apiserver.resources import ResourceType
from jangar.apiserver.serving import Serving
from jangar.apiserver.storage.compaction import CompactionPolicy, Compactor
from jangar.apiserver.storage.settings import StoreSettings
from jangar.apiserver.storage.sqlite_store import SqliteStore
from jangar.apiserver.storage.store import Key
from jangar.apiserver.strategies.custom_types import resource_types_of
from jangar.apiserver.strategies.pod import Find
from jangar.processes.http_protocol import HttpProtocol

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
    """What kube-controller-manager adds is left out: root certificates, and letting deleted claims go."""
    storage: StoreSettings | None = None
    compaction: CompactionPolicy | None = None


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
        _spare_the_cycle_collector()
        print(f"serving the Kubernetes API at {server.url}", flush=True)  # noqa: T201 - what the user waits for
        print(f"export KUBECONFIG={server.kubeconfig}", flush=True)  # noqa: T201
        await stop.wait()


def _spare_the_cycle_collector() -> None:
    """Objects live long here and hold no cycles: looking through all of them again and again finds nothing."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


class _Follower(Protocol):
    """Acts on what was written."""

    async def run(self) -> None:
        """Until cancelled."""


@asynccontextmanager
async def running(settings: ApiServerSettings) -> AsyncIterator[Running]:
    """A server within this process, and its end."""
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    store = SqliteStore.open(settings.data_dir / "objects.db", settings.storage)
    token, tokens = _tokens(settings.data_dir)
    find, access = _finder(store), Access(store)
    accounts = AccountTokens(settings.data_dir / "tls" / "accounts.key", find, _now, _new_uid)
    authenticator = Authenticator(tokens, everybody=ADMIN if settings.plain_http else None, accounts=accounts)
    serving = _serving(store, built_in_types(find, authenticator.known, access))
    serving.listeners.append(access.hear)
    await ensure_first_roles(serving)
    certificates = None
    if not settings.plain_http:
        hosts = tuple(dict.fromkeys((*HOSTS, settings.host)))
        certificates = ensure_certificates(settings.data_dir / "tls", hosts, now=datetime.now(UTC))
    dispatcher = Dispatcher(
        serving,
        authenticator,
        Authorizer(access),
        {
            ("pods", "binding"): {"POST": bind_pod},
            ("pods", "eviction"): {"POST": evict_pod},
            ("pods", "log"): {"GET": log_handler(settings.data_dir / "pod-logs")},
            ("serviceaccounts", "token"): {"POST": token_handler(accounts)},
        },
    )
    custom = CustomResources(serving, resource_types_of)
    authority = certificates.authority.read_text() if certificates and not settings.bare else None
    namespaces = NamespaceLife(serving, authority=authority)
    await namespaces.make_first()
    followers: list[_Follower] = [
        DefinitionLife(serving, custom),
        namespaces,
        Collector(serving),
        Compactor(store, settings.compaction),
    ]
    if not settings.bare:
        followers.append(ClaimProtection(serving))
    listener = socket.create_server((settings.host, settings.port), backlog=2048)
    application = Application(dispatcher, _report)
    server = _uvicorn(application, certificates)
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
            application.end_streams()
            await answering
            for task in tasks:
                task.cancel()
    await store.close()


def _finder(store: SqliteStore) -> Find:
    def find(resource: str, namespace: str, name: str) -> dict[str, Any] | None:
        stored = store.get(Key(resource, namespace, name))
        return orjson.loads(stored.data) if stored is not None else None

    return find


def _now() -> datetime:
    return datetime.now(UTC)


def _new_uid() -> str:
    return str(uuid.uuid4())


def _serving(store: SqliteStore, built_in: list[ResourceType]) -> Serving:
    return Serving(
        store=store,
        registry=Registry(built_in),
        clock=_now,
        new_uid=_new_uid,
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


class _Server(uvicorn.Server):
    """Leaves signals to the process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _uvicorn(application: Application, certificates: Certificates | None) -> uvicorn.Server:
    config = uvicorn.Config(
        application,
        http=HttpProtocol,
        ws="none",
        lifespan="off",
        proxy_headers=False,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        timeout_graceful_shutdown=1,
        timeout_keep_alive=75,
        ssl_certfile=str(certificates.certificate) if certificates else None,
        ssl_keyfile=str(certificates.key) if certificates else None,
    )
    return _Server(config)


async def _started(server: uvicorn.Server) -> None:
    """Uvicorn tells only by a flag."""
    while not server.started:  # noqa: ASYNC110
        await asyncio.sleep(0.005)


def _report(error: Exception) -> None:
    log.error("a request could not be answered", exc_info=error)
