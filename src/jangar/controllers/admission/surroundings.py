"""What AgentRuns name, found in caches: Agents, their providers, tasks, Memories, hosts of repositories, bindings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from jangar.api.agents.agent import AGENT
from jangar.api.agents.implementation import IMPLEMENTATION_SPEC
from jangar.api.agents.memory import MEMORY
from jangar.api.agents.provider import AGENT_PROVIDER
from jangar.api.agents.vcs import VERSION_CONTROL_PROVIDER
from jangar.api.kind import Kind
from jangar.api.orchestration import ORCHESTRATION_RUN
from jangar.api.security import SECRET_BINDING
from jangar.controllers.resources import ATTEMPT, STEP
from jangar.domain.orchestration.child_names import child_name
from jangar.domain.policies.ask import Ask
from jangar.domain.policies.asking import Document, Surroundings, ask_of
from jangar.kube.cache import Cached, Change
from jangar.kube.informer import Informer

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
class Neighbours:
    """The caches of what runs name, and of the runs that own them."""

    informers: Mapping[str, Informer]
    """By the name of the kind: each of `NAMED`."""
    runs: Informer | None
    """OrchestrationRuns; None where they are not watched: then no Orchestration is ever a subject."""
    default_image: str = ""
    version: int = 0
    """Grows with every change of any of them."""

    def __post_init__(self) -> None:
        for informer in self.informers.values():
            informer.subscribe(self._heard)

    @property
    def decisive(self) -> list[Informer]:
        """All that a denial may rest on."""
        return [*self.informers.values(), *([self.runs] if self.runs is not None else [])]

    def _heard(self, change: Change) -> None:
        del change
        self.version += 1

    def doubt(self) -> None:
        """What was asked before is asked again."""
        self.version += 1

    def ask(self, run: Cached) -> Ask:
        """What the run asks for now."""

        def find(kind: str, name: str) -> Document | None:
            cached = self.informers[kind].cache.get(run.namespace, name)
            return cached.view if cached is not None else None

        around = Surroundings(
            find=find,
            memories=self._all(MEMORY, run.namespace),
            bindings=self._all(SECRET_BINDING, run.namespace),
            orchestration=self._orchestration(run),
            default_image=self.default_image,
        )
        return ask_of(run.view, around)

    def _all(self, kind: Kind, namespace: str) -> list[Document]:
        return [
            each.view for each in self.informers[kind.name].cache.all(namespace) if not each.is_being_deleted
        ]

    def _orchestration(self, run: Cached) -> str | None:
        """Whose step it is. Anybody may write an owner reference, so the name that only the step has must fit, too."""
        owner = run.controller
        if self.runs is None or owner is None or owner.kind != ORCHESTRATION_RUN.name:
            return None
        parent = self.runs.cache.get(run.namespace, owner.name)
        step, attempt = run.labels.get(STEP, ""), run.labels.get(ATTEMPT, "")
        if parent is None or parent.uid != owner.uid or not attempt.isdigit():
            return None
        if child_name(parent.name, parent.uid, step, int(attempt)) != run.name:
            return None
        reference = (parent.view.get("spec") or {}).get("orchestrationRef") or {}
        name: str | None = reference.get("name")
        return name
