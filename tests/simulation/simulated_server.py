"""The embedded API server without sockets, disk or threads: its own handlers and storage in virtual time."""

import asyncio
import atexit
import functools
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import orjson
import yaml

from jangar.api.kinds import KINDS
from jangar.api.not_built import KINDS_NOT_BUILT
from kubekit.client.api_client import Client
from kubekit.client.asgi_transport import AsgiTransport
from kubekit.client.resource import Resource
from picokube.apiserver.assembly import ServerEnvironment, assemble
from picokube.apiserver.http.app import Application
from picokube.apiserver.protocol.messages import User
from picokube.apiserver.storage.sqlite_store import SqliteStore
from picokube.apiserver.storage.store import StoreSettings
from picokube.apiserver.strategies.crds.custom import resource_types_of
from simulation.history import History, Version
from support.virtual_time import run_virtual, wall_clock

CRDS = Path(__file__).parents[2] / "charts" / "agents" / "crds"
DEFINITIONS = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    plural="customresourcedefinitions",
    kind="CustomResourceDefinition",
    namespaced=False,
)
NEEDED = (
    *("orchestrations", "orchestrationruns", "tools", "toolruns"),
    *(kind.plural for kind in KINDS if kind.name in KINDS_NOT_BUILT),
)
"""The kinds that every engine watches."""
_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - a name is drawn inside
NO_USERS: Mapping[str, User] = {}
ADMIN = User(name="simulation", groups=("system:masters",))


@functools.cache
def _crds() -> tuple[dict[str, Any], ...]:
    files = sorted(CRDS.glob("*.yaml"))
    read = [yaml.load(file.read_text(), Loader=yaml.CSafeLoader) for file in files]
    return tuple(item for item in read if item["spec"]["names"]["plural"] in NEEDED)


@dataclass(slots=True)
class SimulatedServer:
    """A server in this loop."""

    store: SqliteStore
    application: Application
    history: History
    failures: list[Exception] = field(default_factory=list)

    def transport(self) -> AsgiTransport:
        return AsgiTransport(self.application)

    async def forget_past(self) -> None:
        """Compact: requests for earlier versions get 410 Gone."""
        await self.store.compact(self.store.revision)

    def client(self, manager: str, token: str = "") -> Client:
        return Client(AsgiTransport(self.application, token=token), manager=manager)


@functools.cache
def _types(definition: bytes) -> Any:
    """Compile the kinds once instead of in each of thousands of simulations."""
    return resource_types_of(orjson.loads(definition))


@functools.cache
def _prepared() -> Path:
    """A database with the installed kinds of the product, to be copied."""
    path = Path(tempfile.mkdtemp(prefix="jangar-simulation-")) / "objects.db"
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)

    async def prepare() -> None:
        store = SqliteStore.open(path, StoreSettings(inline=True))
        async with _serving(store, Random(0)) as server:  # noqa: S311
            client = server.client("setup")
            for crd in _crds():
                await client.create(DEFINITIONS, crd)
            await asyncio.sleep(1)
        await store.close()

    thread = Thread(target=run_virtual, args=(prepare(),))
    thread.start()
    thread.join()
    return path


@asynccontextmanager
async def simulated_server(
    random: Random,
    now: Callable[[], datetime] | None = None,
    users: Mapping[str, User] = NO_USERS,
) -> AsyncIterator[SimulatedServer]:
    """A server with the product's kinds and the namespace `default`. `users` authenticate with their tokens."""
    directory = Path(tempfile.mkdtemp(prefix="jangar-simulation-", dir=_MEMORY))
    try:
        shutil.copy(_prepared(), directory)
        store = SqliteStore.open(directory / "objects.db", StoreSettings(inline=True))
        async with _serving(store, random, now, users) as server:
            yield server
        await store.close()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@asynccontextmanager
async def _serving(
    store: SqliteStore,
    random: Random,
    now: Callable[[], datetime] | None = None,
    users: Mapping[str, User] = NO_USERS,
) -> AsyncIterator[SimulatedServer]:
    uids = count(1_000_000)
    made = await assemble(
        store,
        ServerEnvironment(
            directory=Path("/nowhere"),
            clock=now or wall_clock(),
            new_uid=lambda: f"00000000-0000-4000-8000-{next(uids):012}",
            new_suffix=lambda: "".join(random.choices("bcdfghjklmnpqrstvwxz2456789", k=5)),
            tokens=users,
            tokenless_user=ADMIN,
            bare=True,
            custom_types=lambda definition: _types(orjson.dumps(definition)),
        ),
    )
    failures: list[Exception] = []
    history = History()
    loop = asyncio.get_running_loop()
    made.context.listeners.append(
        lambda event: history.add(Version(event.resource.plural, event.object, event.gone, loop.time()))
    )
    server = SimulatedServer(store, Application(made.dispatcher, failures.append), history, failures)
    tasks = [asyncio.create_task(follower.run(), name=type(follower).__name__) for follower in made.followers]
    try:
        yield server
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
