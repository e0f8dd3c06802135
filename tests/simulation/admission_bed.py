"""AgentRuns on the simulated server: many of them, a stand-in for their controller, and a check of every commit."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from random import seed as seed_everything
from typing import Any

import yaml

from jangar.api.agents.agentrun import AGENT_RUN
from jangar.api.kind import Kind
from jangar.controllers.admission.resolved_references import REFERENCED_KINDS
from jangar.controllers.engine_settings import AdmissionSettings, EngineSettings
from jangar.controllers.resources import resource_of
from jangar.domain.policies.policy import AdmissionPolicy
from kubekit.cache.informer import Change, Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client, PatchKind
from kubekit.client.errors import NotFound
from kubekit.client.resource import Obj, Resource
from kubekit.times import parse_rfc3339
from simulation.faults import Faults
from simulation.history import TERMINAL, Version
from simulation.lives import Life
from simulation.simulated_server import CRDS, DEFINITIONS, NEEDED, SimulatedServer, simulated_server
from support.virtual_time import EPOCH, wall_clock

AGENTRUNS = resource_of(AGENT_RUN)
NAMESPACES = Resource(group="", version="v1", plural="namespaces", kind="Namespace", namespaced=False)
HERE = Namespaces.of("default")


def an_agentrun(name: str, namespace: str, agent: str = "coder", **spec: Any) -> Obj:
    """A minimal run."""
    return {
        "apiVersion": AGENTRUNS.api_version,
        "kind": AGENTRUNS.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "agentRef": {"name": agent},
            "implementation": {"inline": {"text": "work"}},
            "runtime": {"type": "job"},
            **spec,
        },
    }


@dataclass(slots=True)
class Workers:
    """A stand-in for the AgentRun controller: starts admitted runs, ends them, fails denied ones."""

    client: Client
    takes: Callable[[str], float]
    """Seconds of work by the name of the run."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _started: set[str] = field(default_factory=set)

    async def run(self) -> None:
        informer = Informer(self.client, AGENTRUNS, namespaces=Namespaces.every())
        informer.subscribe(self._on_change)
        await informer.run()

    def _on_change(self, change: Change) -> None:
        if change.new is None or change.new.uid in self._started:
            return
        admission = (change.new.view.get("status") or {}).get("admission") or {}
        if admission.get("phase") in ("Admitted", "Denied"):
            self._started.add(change.new.uid)
            work = self._work(change.new.namespace, change.new.name, change.new.uid, admission["phase"])
            task = asyncio.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self, namespace: str, name: str, uid: str, admission: str) -> None:
        with contextlib.suppress(NotFound):
            if admission == "Denied":
                await self._set(namespace, name, uid, {"phase": "Failed"})
                return
            await self._set(namespace, name, uid, {"phase": "Running"})
            await asyncio.sleep(self.takes(name))
            await self._set(namespace, name, uid, {"phase": "Succeeded"})

    async def _set(self, namespace: str, name: str, uid: str, status: Mapping[str, Any]) -> None:
        body = {"metadata": {"uid": uid}, "status": status}
        await self.client.patch(AGENTRUNS, name, namespace, body, kind=PatchKind.MERGE, subresource="status")


@dataclass(slots=True)
class AdmissionBed:
    """A server, workers, and successive lives of the controllers."""

    server: SimulatedServer
    client: Client
    random: Random
    settings: EngineSettings
    lives: list[Life] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def ended(self, *, seconds: float) -> None:
        """Until every run has ended."""
        async with asyncio.timeout(seconds):
            for run in self.server.history.all_newest("agentruns"):
                while (self.newest(run).get("status") or {}).get("phase") not in TERMINAL:
                    await self.server.history.next_commit()

    def newest(self, run: Mapping[str, Any]) -> Mapping[str, Any]:
        """The last committed version of the run."""
        return self.server.history.newest("agentruns", run["metadata"]["name"]) or {}

    async def create(self, kind: Kind, name: str, namespace: str, spec: Mapping[str, Any]) -> None:
        """Create any object of the product."""
        meta = {"name": name, "namespace": namespace}
        obj = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": meta, "spec": dict(spec)}
        await self.client.create(resource_of(kind), obj)

    async def start(self, name: str, namespace: str, agent: str = "coder", **spec: Any) -> None:
        """Create a run."""
        await self.client.create(AGENTRUNS, an_agentrun(name, namespace, agent, **spec))

    async def change(self, name: str, namespace: str, spec: Mapping[str, Any]) -> None:
        """Change an object as a user does."""
        run = await self.client.get(AGENTRUNS, name, namespace)
        body = {"metadata": {"uid": run["metadata"]["uid"]}, "spec": dict(spec)}
        await self.client.patch(AGENTRUNS, name, namespace, body, kind=PatchKind.MERGE)

    def admission(self, name: str) -> Mapping[str, Any]:
        """The last recorded admission of a run."""
        run = self.server.history.newest("agentruns", name) or {}
        admission_status: Mapping[str, Any] = (run.get("status") or {}).get("admission") or {}
        return admission_status

    def begin(self, faults: Faults | None = None, *, candidate: str = "") -> Life:
        """Start a life of the controllers alongside others; it ends with the bed."""
        life = Life(self.server, self.settings, faults or Faults(), self.random, EPOCH, candidate=candidate)
        self.lives.append(life)
        self.tasks.append(asyncio.create_task(life.run()))
        return life

    async def live(self, faults: Sequence[Faults]) -> None:
        """Start successive lives with these faults, and a last one without; each starts with empty memory."""
        for fault in [*faults, Faults()]:
            life = Life(self.server, self.settings, fault, self.random, EPOCH)
            self.lives.append(life)
            await life.run()
            await asyncio.sleep(0.05)


async def install_kinds(client: Client) -> None:
    """Install the kinds that admission watches in addition to those of every simulation."""
    for kind in (AGENT_RUN, *REFERENCED_KINDS):
        if kind.plural in NEEDED:
            continue
        file = CRDS / f"{kind.group}_{kind.plural}.yaml"
        await client.create(DEFINITIONS, yaml.load(file.read_text(), Loader=yaml.CSafeLoader))


@asynccontextmanager
async def admission_bed(
    seed: int, policy: AdmissionPolicy, namespaces: Sequence[str], takes: Callable[[str], float]
) -> AsyncIterator[AdmissionBed]:
    """A bed with the kinds that admission needs, and an Agent for every name that a test may use."""
    random = Random(seed)  # noqa: S311 - a simulation repeats
    # Jitter of the product itself.
    seed_everything(seed)
    async with simulated_server(random, wall_clock()) as server:
        client = server.client("user")
        await install_kinds(client)
        for name in namespaces:
            await client.create(NAMESPACES, {"metadata": {"name": name}})
        await asyncio.sleep(1)
        workers = asyncio.create_task(Workers(server.client("workers"), takes).run())
        admission = AdmissionSettings(namespaces=Namespaces.of(*namespaces), policy=policy)
        settings = EngineSettings(orchestrations=HERE, supporting=HERE, admission=admission)
        bed = AdmissionBed(server, client, random, settings)
        try:
            yield bed
        finally:
            for task in (workers, *bed.tasks):
                task.cancel()
            await asyncio.gather(workers, *bed.tasks, return_exceptions=True)
        assert server.failures == []


def violations(versions: Sequence[Version], policy: AdmissionPolicy) -> list[str]:
    """Commits that violate a limit, and runs that were admitted twice or revoked."""
    problems: list[str] = []
    live: dict[str, tuple[str, str]] = {}
    admitted: dict[str, str] = {}
    most = policy.concurrency
    for version in versions:
        if version.resource != "agentruns":
            continue
        status, uid = version.status, version.uid
        admission = status.get("admission") or {}
        if uid in admitted and (admission.get("phase"), admission.get("admittedAt")) != (
            "Admitted",
            admitted[uid],
        ):
            problems.append(f"{uid} was admitted and then {admission}")
        if admission.get("phase") == "Admitted":
            admitted[uid] = admission["admittedAt"]
        if admission.get("phase") == "Admitted" and status.get("phase") not in TERMINAL and not version.gone:
            live[uid] = (version.obj["metadata"]["namespace"], version.obj["spec"]["agentRef"]["name"])
        else:
            live.pop(uid, None)
        in_namespace, of_agent = Counter(namespace for namespace, _ in live.values()), Counter(live.values())
        if (
            len(live) > most.cluster
            or max(in_namespace.values(), default=0) > most.namespace
            or max(of_agent.values(), default=0) > most.agent
        ):
            problems.append(f"at {version.at}: {len(live)} live, {in_namespace}, {of_agent}")
    return problems + _rate_violations(admitted.values(), policy)


def _rate_violations(admitted: Any, policy: AdmissionPolicy) -> list[str]:
    times = sorted(parse_rfc3339(item) for item in admitted)
    most, window = policy.rate.cluster, policy.rate.window
    return [
        f"{most + 1} were admitted within {times[index + most] - first}"
        for index, first in enumerate(times[: -most or None] if most else ())
        if times[index + most] - first < window
    ]
