"""What AgentRuns name, found in caches: Agents, their providers, tasks, Memories, hosts of repositories, bindings."""

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
from jangar.domain.policies.build_request import Document, NamedObjects, agent_run_request, tool_run_request
from jangar.domain.policies.request import RunRequest
from kubekit.cache.informer import Informer
from kubekit.cache.object_cache import Cached, Change

NAMED: Final[tuple[Kind, ...]] = (
    AGENT,
    AGENT_PROVIDER,
    IMPLEMENTATION_SPEC,
    MEMORY,
    VERSION_CONTROL_PROVIDER,
    SECRET_BINDING,
)
"""The kinds by which a run's wishes are known and judged."""


@dataclass(slots=True)
class ResolvedReferences:
    """The caches of what runs name, and of the runs that own them."""

    informers: Mapping[str, Informer]
    """By the name of the kind: each of `NAMED`."""
    runs: Informer | None
    """OrchestrationRuns; None where they are not watched: then no Orchestration is ever a subject."""
    orchestrations: Informer | None = None
    tools: Informer | None = None
    """Tools; None where the limits of runs do not count ToolRuns."""
    default_image: str = ""
    version: int = 0
    """Grows with every change of any of them."""

    def __post_init__(self) -> None:
        for informer in (*self.informers.values(), *([self.tools] if self.tools is not None else [])):
            informer.subscribe(self._heard)

    @property
    def decisive(self) -> list[Informer]:
        """All that a denial may rest on."""
        more = [item for item in (self.runs, self.orchestrations, self.tools) if item is not None]
        return [*self.informers.values(), *more]

    def _heard(self, change: Change) -> None:
        del change
        self.version += 1

    def doubt(self) -> None:
        """What was asked before is asked again."""
        self.version += 1

    def ask(self, run: Cached) -> RunRequest:
        """What the run asks for now."""

        def find(kind: str, name: str) -> Document | None:
            cached = self.informers[kind].cache.get(run.namespace, name)
            return cached.view if cached is not None else None

        around = NamedObjects(
            find=find,
            memories=self._all(MEMORY, run.namespace),
            bindings=self._all(SECRET_BINDING, run.namespace),
            orchestration=self._orchestration(run),
            default_image=self.default_image,
        )
        return agent_run_request(run.view, around)

    def ask_of_tool_run(self, run: Cached) -> RunRequest:
        """What a ToolRun asks for now."""
        name = ((run.view.get("spec") or {}).get("toolRef") or {}).get("name") or ""
        tool = self.tools.cache.get(run.namespace, name) if self.tools is not None else None
        asked = tool_run_request(run.view, (tool.view.get("spec") or {}) if tool is not None else {})
        return asked if tool is not None else replace(asked, missing=(f"Tool {name}",))

    def _all(self, kind: Kind, namespace: str) -> list[Document]:
        return [
            item.view for item in self.informers[kind.name].cache.all(namespace) if not item.is_being_deleted
        ]

    def _orchestration(self, run: Cached) -> str | None:
        """Whose step it is: the Orchestration that the parent's snapshot was taken of.

        Anybody may write an owner reference and labels. So the parent must have recorded that it starts this very
        child; before its Job is made the parent is asked again, without the cache (`controllers/job_execution`).
        """
        owner = run.controller
        if self.runs is None or owner is None or owner.kind != ORCHESTRATION_RUN.name:
            return None
        parent = self.runs.cache.get(run.namespace, owner.name)
        if parent is None or parent.uid != owner.uid or not _has_childs_name(parent, run):
            return None
        status = parent.view.get("status") or {}
        recorded = confirmation(status.get("stepStatuses") or (), run)
        # A step that does not fit into the status is on a page, which is read before the Job is made.
        if recorded is not Owner.ACTIVE and not status.get("stepPages"):
            return None
        return self._subject(parent)

    def _subject(self, parent: Cached) -> str | None:
        source = snapshot_source(parent)
        if source is None:
            return _source_of_earlier_version(parent)
        now = self.orchestrations.cache.get(parent.namespace, source["name"]) if self.orchestrations else None
        # Another Orchestration of that name is another subject; one that is gone was the subject when the run began.
        return source["name"] if now is None or now.uid == source["uid"] else None


def _has_childs_name(parent: Cached, run: Cached) -> bool:
    step, attempt = run.labels.get(STEP, ""), run.labels.get(ATTEMPT, "")
    return attempt.isdecimal() and child_name(parent.name, parent.uid, step, int(attempt)) == run.name


def _source_of_earlier_version(parent: Cached) -> str | None:
    """Of a run that was begun before sources were recorded: what it names, unless it repeats another run."""
    spec, status = parent.view.get("spec") or {}, parent.view.get("status") or {}
    if not status.get("snapshotRef") or spec.get("retryOf"):
        return None
    name: str | None = (spec.get("orchestrationRef") or {}).get("name")
    return name
