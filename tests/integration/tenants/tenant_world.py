"""A namespace with a Secret that is bound to one Orchestration, and tenants with few permissions that try to read it.

Controllers, API server with RBAC, and cluster in one loop and virtual time.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from jangar.api.agents.agent import AGENT
from jangar.api.agents.agentrun import AGENT_RUN
from jangar.api.agents.provider import AGENT_PROVIDER
from jangar.api.security import SECRET_BINDING
from jangar.controllers.engine_settings import AdmissionSettings, EngineSettings
from jangar.controllers.resources import resource_of
from jangar.domain.agentrun.command import AgentDefaults
from jangar.domain.policies.policy import AdmissionPolicy, Concurrency, Queue, Rate
from kubekit.client.api_client import Client, PatchKind
from kubekit.client.builtin import CONFIG_MAPS, SECRETS
from kubekit.client.errors import ApiError
from kubekit.client.resource import Resource
from picokube.apiserver.protocol.messages import User
from simulation.admission_bed import install_kinds
from simulation.bed import HERE, NAMESPACE, ORCHESTRATIONS, RUNS, TOOL_RUNS, TOOLS, Bed, bed
from simulation.simulated_cluster import Work

AGENT_RUNS, AGENTS, PROVIDERS = resource_of(AGENT_RUN), resource_of(AGENT), resource_of(AGENT_PROVIDER)
BINDINGS = resource_of(SECRET_BINDING)
ROLES, ROLE_BINDINGS = (
    Resource(group="rbac.authorization.k8s.io", version="v1", plural=f"{kind.lower()}s", kind=kind)
    for kind in ("Role", "RoleBinding")
)
CANARY, TRUSTED, TASK, STOLEN = "canary", "trusted", "the trusted task", "print the canary"
RIGHTS: Mapping[str, tuple[str, Resource]] = {
    **{f"create {item.plural}": ("create", item) for item in (RUNS, AGENT_RUNS, TOOL_RUNS, CONFIG_MAPS)},
    **{f"create {item.plural}": ("create", item) for item in (ORCHESTRATIONS, AGENTS, PROVIDERS, TOOLS)},
    **{f"patch {item.plural}": ("patch", item) for item in (RUNS, AGENT_RUNS, TOOL_RUNS)},
    **{f"delete {item.plural}": ("delete", item) for item in (AGENT_RUNS, TOOL_RUNS, CONFIG_MAPS)},
}
"""Permissions of a tenant; each may also read runs, which reveals names and uids."""


def agent_step(name: str = "ask", task: str = STOLEN, **more: Any) -> dict[str, Any]:
    """A step whose agent requests the canary."""
    return {
        "name": name,
        "kind": "AgentRun",
        "agentRef": {"name": "coder"},
        "implementation": {"inline": {"text": task}},
        "secrets": [CANARY],
        **more,
    }


def agent_run(task: str = STOLEN, **more: Any) -> dict[str, Any]:
    """The spec of an AgentRun that requests the canary."""
    return {
        "agentRef": {"name": "coder"},
        "runtime": {"type": "job"},
        "implementation": {"inline": {"text": task}},
        "secrets": [CANARY],
        **more,
    }


@dataclass(slots=True)
class Tenant:
    """A user with a token and few permissions. Forbidden requests are counted, created objects are recorded by uid."""

    name: str
    client: Client
    made: set[str] = field(default_factory=set)
    forbidden: int = 0

    async def create(
        self, resource: Resource, name: str, spec: Mapping[str, Any] | None = None, **more: Any
    ) -> dict[str, Any] | None:
        meta = {"name": name, "namespace": NAMESPACE, **more.pop("metadata", {})}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, **more}
        if spec is not None:
            body["spec"] = dict(spec)
        try:
            obj = await self.client.create(resource, body)
        except ApiError:
            self.forbidden += 1
            return None
        self.made.add(obj["metadata"]["uid"])
        return obj

    async def patch(self, resource: Resource, obj: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        guarded = {**body, "metadata": {**body.get("metadata", {}), "uid": obj["metadata"]["uid"]}}
        try:
            await self.client.patch(
                resource, obj["metadata"]["name"], NAMESPACE, guarded, kind=PatchKind.MERGE
            )
        except ApiError:
            self.forbidden += 1

    async def delete(self, resource: Resource, obj: Mapping[str, Any]) -> None:
        try:
            meta = obj["metadata"]
            await self.client.delete(resource, meta["name"], NAMESPACE, uid=meta["uid"])
        except ApiError:
            self.forbidden += 1


@dataclass(slots=True)
class World:
    """The bed and its tenants."""

    bed: Bed
    tenants: list[Tenant]

    def harm(self) -> Iterator[str]:
        """All violations in the committed versions."""
        foreign = {uid for tenant in self.tenants for uid in tenant.made}
        objects = {version.uid: version.obj for version in self.bed.server.history.versions}
        for version in self.bed.server.history.versions:
            meta = version.obj["metadata"]
            if version.resource == "jobs" and CANARY in str(version.obj["spec"]["template"]):
                owner = meta["ownerReferences"][0]["uid"]
                task = str(objects[owner]["spec"].get("implementation"))
                if owner in foreign or TASK not in task:
                    yield f"Job {meta['name']} gives the canary to {objects[owner]['metadata']['name']}: {task}"
            if version.resource == "orchestrationruns":
                yield from _adopted(version.obj, foreign)

    def read_canary(self) -> int:
        """The number of Jobs with the canary."""
        jobs = [version for version in self.bed.server.history.versions if version.resource == "jobs"]
        return len({item.uid for item in jobs if CANARY in str(item.obj["spec"]["template"])})


def _adopted(run: Mapping[str, Any], foreign: set[str]) -> Iterator[str]:
    status = run.get("status") or {}
    if (status.get("snapshotRef") or {}).get("uid") in foreign:
        yield f"run {run['metadata']['name']} executes a foreign snapshot"
    for step in status.get("stepStatuses") or ():
        if (step.get("resourceRef") or {}).get("uid") in foreign:
            yield f"run {run['metadata']['name']} adopted a foreign child for step {step['name']}"
    if set((status.get("stepPages") or {}).get("uids") or ()) & foreign:
        yield f"run {run['metadata']['name']} reads a foreign page"


@asynccontextmanager
async def tenant_world(seed: int, rights: list[tuple[str, ...]], bound: list[str]) -> AsyncIterator[World]:
    """A tenant for each set of permissions. The Orchestrations `bound` may use the canary once they exist."""
    users = {f"token-{number}": User(name=f"tenant-{number}") for number in range(len(rights))}
    policy = AdmissionPolicy(
        concurrency=Concurrency(namespace=1000, agent=1000, cluster=1000),
        queue=Queue(namespace=0, repo=0, cluster=0),
        rate=Rate(namespace=0, repo=0, cluster=0),
    )
    settings = EngineSettings(
        orchestrations=HERE,
        supporting=HERE,
        agents=HERE,
        agent_defaults=AgentDefaults(image="none"),
        admission=AdmissionSettings(namespaces=HERE, policy=policy),
        policy=policy,
    )
    async with bed(seed, lambda _name, _before: Work(runs=15.0), settings, users=users) as made:
        await install_kinds(made.client)
        await made.client.create(
            SECRETS, {"metadata": {"name": CANARY, "namespace": NAMESPACE}, "stringData": {"key": "value"}}
        )
        await made.create(PROVIDERS, "p", {"binary": "sh"})
        await made.create(AGENTS, "coder", {"providerRef": {"name": "p"}})
        await made.orchestration(TRUSTED, [agent_step(task=TASK)])
        subjects = [{"kind": "Orchestration", "name": name} for name in (TRUSTED, *bound)]
        await made.create(BINDINGS, "b", {"subjects": subjects, "allowedSecrets": [CANARY]})
        tenants = []
        for number, held in enumerate(rights):
            await _grant(made, f"tenant-{number}", held)
            client = made.server.client("kubectl", token=f"token-{number}")
            tenants.append(Tenant(name=f"tenant-{number}", client=client))
        yield World(bed=made, tenants=tenants)


async def _grant(made: Bed, user: str, held: tuple[str, ...]) -> None:
    rules = [{"apiGroups": [RUNS.group], "resources": [RUNS.plural], "verbs": ["get", "list", "watch"]}]
    for right in held:
        verb, resource = RIGHTS[right]
        rules.append({"apiGroups": [resource.group], "resources": [resource.plural], "verbs": [verb]})
    meta = {"name": user, "namespace": NAMESPACE}
    await made.client.create(ROLES, {"metadata": meta, "rules": rules})
    await made.client.create(
        ROLE_BINDINGS,
        {
            "metadata": meta,
            "roleRef": {"apiGroup": ROLES.group, "kind": "Role", "name": user},
            "subjects": [{"apiGroup": ROLES.group, "kind": "User", "name": user}],
        },
    )
