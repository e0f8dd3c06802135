"""Where the engine is measured: a laptop in one process, one in three, and a real API server with a scripted node."""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from benchmarks.bench_engine_nodes import JobsAtOnce
from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN
from jangar.api.tools import TOOL, TOOL_RUN
from jangar.controllers.resources import resource_of
from jangar.processes.controllers import engine
from jangar.processes.lifecycle import collecting_when_idle
from jangar.settings.controllers import controller_settings
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client
from kubekit.client.asgi_transport import AsgiTransport
from kubekit.client.connection import from_kubeconfig
from kubekit.client.errors import NotFound
from kubekit.client.http_transport import HttpTransport
from kubekit.client.resource import Resource
from kubekit.client.transport import JSON, NO_QUERY, Response, Transport, WriteGuard, always
from kubekit.controller.manager import Manager
from kubekit.controller.urgent_work import UrgentWorkGate
from picokube import ApiServerSettings, running
from picokube.apiserver.http.app import Application
from picokube.nodeagent.agent import NodeAgent, NodeAgentSettings

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.api_servers import CONTROLLERS, EmbeddedApiServer, RealApiServer  # noqa: E402 - the tests' own
from support.child_processes import Child  # noqa: E402

NAMESPACE = "default"
HERE = Namespaces.of(NAMESPACE)
DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
TOOLS, TOOL_RUNS = resource_of(TOOL), resource_of(TOOL_RUN)
ORCHESTRATIONS, RUNS = resource_of(ORCHESTRATION), resource_of(ORCHESTRATION_RUN)
ENDED = frozenset({"Succeeded", "Failed", "Cancelled"})
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
AT_ONCE = 8


@dataclass
class Counted:
    """A transport that counts writes; Events and Leases aside."""

    inner: Transport
    writes: int = 0
    sent: int = 0
    by_target: dict[str, list[int]] = field(default_factory=dict)

    def reset(self) -> None:
        self.writes = self.sent = 0
        self.by_target.clear()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = NO_QUERY,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float,  # noqa: ASYNC109 - handed on
        may_leave: WriteGuard = always,
    ) -> Response:
        words = path.split("/")
        if method in WRITES and "events" not in words and "leases" not in words:
            size = len(body or b"")
            self.writes += 1
            self.sent += size
            self.by_target.setdefault(f"{method} {_shape(words)}", []).append(size)
        return await self.inner.request(
            method,
            path,
            query=query,
            body=body,
            content_type=content_type,
            timeout=timeout,
            may_leave=may_leave,
        )

    def stream(self, path: str, *, query: Mapping[str, str], idle_timeout: float) -> Any:
        return self.inner.stream(path, query=query, idle_timeout=idle_timeout)

    async def close(self) -> None:
        await self.inner.close()


def _shape(words: Sequence[str]) -> str:
    """The kind and the subresource of a path."""
    after = words[words.index("namespaces") + 2 :]
    return "/".join(after[0::2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Bed:
    """A cluster with running controllers, and a client that creates runs."""

    client: Client
    counted: Counted | None = None
    """What the controllers sent, where they are in this process."""
    kubeconfig: Path | None = None
    stop_controllers: Callable[[], Any] = lambda: None
    """So that nothing is done by them from now on."""
    controllers: int = 0
    """Pid, where they are a process of their own."""

    async def create(self, resource: Resource, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
        return await self.client.create(
            resource,
            {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": dict(spec),
            },
        )

    async def define(self, name: str, steps: Sequence[Mapping[str, Any]], **spec: Any) -> None:
        await self.create(ORCHESTRATIONS, name, {"steps": list(steps), **spec})

    async def start(self, name: str, orchestration: str) -> None:
        await self.create(RUNS, name, {"orchestrationRef": {"name": orchestration}})

    async def ended(self, name: str, *, seconds: float = 300, every: float = 0.02) -> dict[str, Any]:
        """The run when it is over. Asking costs, too: how often is for who knows how long it takes."""
        async with asyncio.timeout(seconds):
            while True:
                run = await self.client.get(RUNS, name, NAMESPACE)
                if (run.get("status") or {}).get("phase") in ENDED:
                    assert run["status"]["phase"] == "Succeeded", run["status"]
                    return run
                await asyncio.sleep(every)


def step(name: str, after: Sequence[str] = (), tool: str = "true") -> dict[str, Any]:
    return {"name": name, "kind": "ToolRun", "toolRef": {"name": tool}, "dependsOn": list(after)}


def chain(length: int) -> list[dict[str, Any]]:
    return [step(f"s{n}", [f"s{n - 1}"] if n else []) for n in range(length)]


def wide(width: int) -> list[dict[str, Any]]:
    return [step(f"s{n}") for n in range(width)]


async def install(client: Client) -> None:
    """Our kinds, and the tool that all steps use."""
    for file in sorted((ROOT / "charts" / "agents" / "crds").glob("*.yaml")):
        crd = yaml.load(file.read_text(), Loader=yaml.CSafeLoader)
        await client.create(DEFINITIONS, crd)
    for resource in (TOOLS, TOOL_RUNS, ORCHESTRATIONS, RUNS):
        async with asyncio.timeout(30):
            while True:
                try:
                    await client.list(resource, NAMESPACE)
                    break
                except NotFound:
                    await asyncio.sleep(0.05)
    await asyncio.sleep(0.5)
    await Bed(client=client).create(TOOLS, "true", {"image": "busybox", "command": ["true"]})


@asynccontextmanager
async def laptop() -> AsyncIterator[Bed]:
    """API server, node agent and controllers in one loop, without sockets between them."""
    async with _server() as (directory, kubeconfig, application):
        agent = NodeAgent(
            Client(AsgiTransport(application, user_agent="jangar-node-agent"), manager="jangar-node-agent"),
            NodeAgentSettings(data_dir=directory, node_name="laptop"),
            now=lambda: datetime.now(UTC),
            urgent_work=(urgency := UrgentWorkGate()),
        )
        async with _at_work(agent.run(), agent.manager.stop):
            await agent.link.connected()
            async with _controlled(application, directory, kubeconfig, urgency) as bed:
                yield bed


@asynccontextmanager
async def scripted_laptop() -> AsyncIterator[Bed]:
    """The same without processes: every Job's pod is made, and ends, as soon as the Job is seen."""
    async with _server() as (directory, kubeconfig, application):
        node = JobsAtOnce(Client(AsgiTransport(application), manager="bench-node"))
        async with _at_work(node.run(), lambda: None), _controlled(application, directory, kubeconfig) as bed:
            yield bed


@asynccontextmanager
async def _server() -> AsyncIterator[tuple[Path, Path, Application]]:
    directory = Path(tempfile.mkdtemp(prefix="jangar-bench-"))
    try:
        async with running(ApiServerSettings(data_dir=directory, plain_http=True)) as server:
            application = Application(server.dispatcher, _raise)
            yield directory, server.kubeconfig, application
            application.end_streams()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@asynccontextmanager
async def _controlled(
    application: Application, directory: Path, kubeconfig: Path, urgency: UrgentWorkGate | None = None
) -> AsyncIterator[Bed]:
    client = Client(AsgiTransport(application), manager="bench")
    await install(client)
    counted = Counted(AsgiTransport(application, user_agent="jangar-controllers"))
    manager = _manager(counted, directory, urgency)
    async with _at_work(manager.run(), manager.stop):
        await _ready(manager)
        async with collecting_when_idle():
            yield Bed(client=client, counted=counted, kubeconfig=kubeconfig, stop_controllers=manager.stop)


@asynccontextmanager
async def laptop_of_three() -> AsyncIterator[Bed]:
    """The same as three processes over TLS, as three terminals would have them."""
    server = EmbeddedApiServer()
    children: list[Child] = []
    try:
        client = Client(HttpTransport(from_kubeconfig(server.kubeconfig)), manager="bench")
        await install(client)
        jangar, data = Path(sys.executable).with_name("jangar"), server.directory / "data"
        where = ("--kubeconfig", server.kubeconfig, "--data-dir", data)
        children.append(Child("node-agent", (jangar, "node-agent", *where), server.directory))
        controllers = Child("controllers", (jangar, "controllers", *where, "-n", NAMESPACE), server.directory)
        children.append(controllers)
        bed = Bed(client=client, controllers=controllers.pid, stop_controllers=controllers.stop)
        await bed.define("first", wide(1))
        await bed.start("first", "first")
        await bed.ended("first")
        yield bed
        await client.close()
    finally:
        for child in reversed(children):
            child.stop()
        server.stop()


@asynccontextmanager
async def real(*, kubelet: bool = True) -> AsyncIterator[Bed]:
    """kube-apiserver, etcd and kube-controller-manager; pods end as soon as they are seen; controllers in this loop."""
    server = RealApiServer()
    children: list[Child] = []
    try:
        connection = from_kubeconfig(server.kubeconfig)
        client = Client(HttpTransport(connection), manager="bench")
        await install(client)
        server.start_controllers((*CONTROLLERS, "job-controller", "ttl-after-finished-controller"))
        if kubelet:
            command = (sys.executable, "-m", "benchmarks.bench_engine_nodes", server.kubeconfig)
            children.append(Child("kubelet", command, server.directory, env={"PYTHONPATH": str(ROOT)}))
        counted = Counted(HttpTransport(connection, user_agent="jangar-controllers"))
        manager = _manager(counted, None)
        async with _at_work(manager.run(), manager.stop):
            await _ready(manager)
            yield Bed(client=client, counted=counted, stop_controllers=manager.stop)
        await counted.close()
        await client.close()
    finally:
        for child in children:
            child.stop()
        server.stop()


def _manager(transport: Transport, data_dir: Path | None, urgency: UrgentWorkGate | None = None) -> Manager:
    return engine(
        transport, controller_settings({}), own=HERE, explicit=True, data_dir=data_dir, urgent_work=urgency
    )


@asynccontextmanager
async def _at_work(work: Any, stop: Callable[[], None]) -> AsyncIterator[None]:
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        stop()
        await asyncio.wait({task}, timeout=20)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _ready(manager: Manager) -> None:
    async with asyncio.timeout(30):
        while manager.ready():  # noqa: ASYNC110 - readiness sends no event
            await asyncio.sleep(0.02)


def _raise(error: Exception) -> None:
    raise error
