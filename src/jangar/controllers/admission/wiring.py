"""Admission wired: what it watches, and which changes wake its one pass."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final

from jangar.api.agents.agentrun import AGENT_RUN
from jangar.api.kind import Kind
from jangar.api.security import SECRET_BINDING
from jangar.api.tools import TOOL, TOOL_RUN
from jangar.controllers.admission.agent_run_index import AgentRunIndex, seen_in
from jangar.controllers.admission.reconciler import KEY, AdmissionReconciler
from jangar.controllers.admission.resolved_references import NAMED, ResolvedReferences
from jangar.controllers.status_writer import StatusWriter
from jangar.domain.policies.policy import AdmissionPolicy
from jangar.domain.policies.policy_checks import policy_violation
from jangar.domain.policies.verdicts import Deny
from kubekit.cache.informer import Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.cache.object_cache import Cached, Change
from kubekit.client.api_client import Client
from kubekit.controller.controller import Authority, Controller
from kubekit.controller.reconcile import Key

TOGETHER_SECONDS: Final = 0.02
"""Changes within so long are decided about at once."""


def watched_kinds(policy: AdmissionPolicy) -> tuple[Kind, ...]:
    """What admission watches."""
    return (AGENT_RUN, *NAMED, *((TOOL_RUN, TOOL) if policy.counts_tool_runs else ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionSettings:
    """What operators decide about admission."""

    namespaces: Namespaces
    """Whose runs are decided about; the cluster's limits count these."""
    policy: AdmissionPolicy = field(default_factory=AdmissionPolicy)


class Admission:
    """The controller, and what it must be told when authority comes and goes."""

    def __init__(
        self,
        client: Client,
        settings: AdmissionSettings,
        *,
        informers: Mapping[str, Informer],
        orchestrationruns: Informer | None,
        orchestrations: Informer | None = None,
        now: Callable[[], datetime],
        may_act: Authority | None,
    ) -> None:
        """`informers` by the name of the kind: those that `watched_kinds` names."""
        agentruns = informers[AGENT_RUN.name]
        self.bindings = informers[SECRET_BINDING.name]
        self._policy = settings.policy
        self._references = references = ResolvedReferences(
            informers={kind.name: informers[kind.name] for kind in NAMED},
            runs=orchestrationruns,
            orchestrations=orchestrations,
            tools=informers[TOOL.name] if settings.policy.counts_tool_runs else None,
            default_image=settings.policy.default_image,
        )
        index = AgentRunIndex(references=references, window=settings.policy.rate.window)
        runs = {AGENT_RUN.name: agentruns}
        if settings.policy.counts_tool_runs:
            runs[TOOL_RUN.name] = informers[TOOL_RUN.name]
        for kind_name, informer in runs.items():
            informer.subscribe(partial(index.heard, kind=kind_name))
        self._reconcile = AdmissionReconciler(
            client=client,
            runs=runs,
            index=index,
            writer=StatusWriter(client),
            policy=settings.policy,
            namespaces=settings.namespaces,
            now=now,
        )
        self.controller = Controller("admission", self._reconcile, workers=1, may_act=may_act)
        for informer in runs.values():
            self.controller.watch(informer, _the_one, where=_matters, after=TOGETHER_SECONDS)
        for kind in watched_kinds(settings.policy):
            if kind.name not in runs:
                self.controller.watch(
                    informers[kind.name], _the_one, where=_is_new_spec, after=TOGETHER_SECONDS
                )

    def denial(self, run: Cached) -> Deny | None:
        """Why the run could not be admitted now: what it names may have changed since it was."""
        found = policy_violation(self._references.ask(run), self._policy)
        return found if isinstance(found, Deny) else None

    def authority_gained(self) -> None:
        """Before anything is decided the runs are read anew."""
        self._reconcile.distrust()
        self.controller.enqueue(KEY)


def _the_one(change: Change) -> Iterable[Key]:
    del change
    return (KEY,)


def _matters(change: Change) -> bool:
    """Whether a place became free or somebody wants one; told positions and progress do not matter."""
    old = seen_in(change.old) if change.old is not None else None
    new = seen_in(change.new) if change.new is not None else None
    if old is None or new is None:
        one = new or old
        return one is not None and (one.holds_place or one.is_waiting)
    return old.state != new.state


def _is_new_spec(change: Change) -> bool:
    """Whether more than a status changed."""
    return change.old is None or change.new is None or change.old.generation != change.new.generation
