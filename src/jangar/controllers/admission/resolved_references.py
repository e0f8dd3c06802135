"""The objects that AgentRuns reference, from caches: Agents, providers, tasks, Memories, repository hosts, bindings."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from jangar.api.agents.agent import AGENT
from jangar.api.agents.implementation import IMPLEMENTATION_SPEC
from jangar.api.agents.memory import MEMORY
from jangar.api.agents.provider import AGENT_PROVIDER
from jangar.api.agents.vcs import VERSION_CONTROL_PROVIDER
from jangar.api.kind import Kind
from jangar.api.orchestration import ORCHESTRATION_RUN
from jangar.api.security import SECRET_BINDING
from jangar.controllers.job_execution.observe import confirmation
from jangar.controllers.orchestrationrun.definitions import snapshot_source
from jangar.controllers.resources import ATTEMPT, STEP
from jangar.domain.job_execution.observation import Owner
from jangar.domain.orchestration.child_names import child_name
from jangar.domain.policies.request import (
    Document,
    NamedObjects,
    RunRequest,
    agent_run_request,
    tool_run_request,
)
from kubekit.cache.informer import Informer
from kubekit.cache.object_cache import Cached

REFERENCED_KINDS: Final[tuple[Kind, ...]] = (
    AGENT,
    AGENT_PROVIDER,
    IMPLEMENTATION_SPEC,
    MEMORY,
    VERSION_CONTROL_PROVIDER,
    SECRET_BINDING,
)
"""The kinds that determine what a run requests and whether it may have it."""


@dataclass(slots=True)
class ResolvedReferences:
    """The caches of what runs reference, and of the runs that own them."""

    informers: Mapping[str, Informer]
    """By the name of the kind: each of `REFERENCED_KINDS`."""
    runs: Informer | None
    """OrchestrationRuns; if None, bindings with an Orchestration as subject match no run."""
    orchestrations: Informer | None = None
    tools: Informer | None = None
    """Tools; None if the limits do not count ToolRuns."""
    default_image: str = ""
    version: int = 0
    """Grows with every change of one of them."""

    def __post_init__(self) -> None:
        for informer in (*self.informers.values(), *([self.tools] if self.tools is not None else [])):
            informer.subscribe(lambda _: self.invalidate())

    @property
    def informers_of_denials(self) -> list[Informer]:
        """The informers that a denial may depend on."""
        more = [item for item in (self.runs, self.orchestrations, self.tools) if item is not None]
        return [*self.informers.values(), *more]

    def invalidate(self) -> None:
        """Resolve every request again."""
        self.version += 1

    def request(self, run: Cached) -> RunRequest:
        """What an AgentRun requests with the objects that it references now."""

        def find(kind: str, name: str) -> Document | None:
            cached = self.informers[kind].cache.get(run.namespace, name)
            return cached.view if cached is not None else None

        objects = NamedObjects(
            find=find,
            memories=self._all(MEMORY, run.namespace),
            bindings=self._all(SECRET_BINDING, run.namespace),
            orchestration=self._orchestration(run),
            default_image=self.default_image,
        )
        return agent_run_request(run.view, objects)

    def tool_run_request(self, run: Cached) -> RunRequest:
        """What a ToolRun requests with its current Tool."""
        name = ((run.view.get("spec") or {}).get("toolRef") or {}).get("name") or ""
        tool = self.tools.cache.get(run.namespace, name) if self.tools is not None else None
        request = tool_run_request(run.view, (tool.view.get("spec") or {}) if tool is not None else {})
        return request if tool is not None else replace(request, missing=(f"Tool {name}",))

    def _all(self, kind: Kind, namespace: str) -> list[Document]:
        return [
            item.view for item in self.informers[kind.name].cache.all(namespace) if not item.is_being_deleted
        ]

    def _orchestration(self, run: Cached) -> str | None:
        """The Orchestration whose step the run is, from the snapshot of its parent.

        Any user can write an owner reference and labels, so the parent must have recorded that it starts this child.
        Before the Job is created, the parent is read again without the cache (`controllers/job_execution`).
        """
        owner = run.controller
        if self.runs is None or owner is None or owner.kind != ORCHESTRATION_RUN.name:
            return None
        parent = self.runs.cache.get(run.namespace, owner.name)
        if parent is None or parent.uid != owner.uid or not _has_name_of_child(parent, run):
            return None
        status = parent.view.get("status") or {}
        recorded = confirmation(status.get("stepStatuses") or (), run)
        # A step that does not fit into the status is on a page, which is read before the Job is created.
        if recorded is not Owner.ACTIVE and not status.get("stepPages"):
            return None
        return self._subject(parent)

    def _subject(self, parent: Cached) -> str | None:
        source = snapshot_source(parent)
        if source is None:
            return _legacy_source(parent)
        orchestrations = self.orchestrations
        current = orchestrations.cache.get(parent.namespace, source["name"]) if orchestrations else None
        # A new Orchestration of that name is a different subject; a deleted one was the subject when the run started.
        return source["name"] if current is None or current.uid == source["uid"] else None


def _has_name_of_child(parent: Cached, run: Cached) -> bool:
    step, attempt = run.labels.get(STEP, ""), run.labels.get(ATTEMPT, "")
    return attempt.isdecimal() and child_name(parent.name, parent.uid, step, int(attempt)) == run.name


def _legacy_source(parent: Cached) -> str | None:
    """The Orchestration of a run that started before sources were recorded, unless it retries another run."""
    spec, status = parent.view.get("spec") or {}, parent.view.get("status") or {}
    if not status.get("snapshotRef") or spec.get("retryOf"):
        return None
    name: str | None = (spec.get("orchestrationRef") or {}).get("name")
    return name
