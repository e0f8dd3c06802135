"""Admission of AgentRuns and ToolRuns: the index of runs, what they reference, and the reconciler that decides."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Final

from jangar.api.agents.agentrun import AGENT_RUN
from jangar.api.tools import TOOL, TOOL_RUN
from jangar.controllers.admission.agent_run_index import AgentRunIndex
from jangar.controllers.admission.reconciler import AdmissionReconciler
from jangar.controllers.admission.resolved_references import REFERENCED_KINDS, ResolvedReferences
from jangar.controllers.engine_settings import AdmissionSettings
from jangar.controllers.informers import ADMISSION, ORCHESTRATIONS, RUNS, Informers, source_of
from jangar.controllers.status_writer import StatusWriter
from jangar.domain.policies.policy_checks import policy_violation
from jangar.domain.policies.verdicts import Deny
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client

AGENT_RUNS: Final = source_of(AGENT_RUN, group=ADMISSION)
REFERENCED: Final = {kind.name: source_of(kind, group=ADMISSION) for kind in REFERENCED_KINDS}
TOOL_RUNS: Final = source_of(TOOL_RUN, group=ADMISSION)
"""Watched, like their Tools, only if the limits count ToolRuns."""
TOOLS: Final = source_of(TOOL, group=ADMISSION)


class Admission:
    """Decides which runs may start."""

    def __init__(
        self,
        client: Client,
        settings: AdmissionSettings,
        *,
        informers: Informers,
        writer: StatusWriter,
        now: Callable[[], datetime],
    ) -> None:
        self._policy = policy = settings.policy
        self._references = ResolvedReferences(
            informers={kind: informers[source] for kind, source in REFERENCED.items()},
            runs=informers.get(RUNS),
            orchestrations=informers.get(ORCHESTRATIONS),
            tools=informers[TOOLS] if policy.counts_tool_runs else None,
            default_image=policy.default_image,
        )
        index = AgentRunIndex(references=self._references, window=policy.rate.window)
        runs = {AGENT_RUN.name: informers[AGENT_RUNS]}
        if policy.counts_tool_runs:
            runs[TOOL_RUN.name] = informers[TOOL_RUNS]
        for kind, informer in runs.items():
            informer.subscribe(partial(index.update, kind=kind))
        self.reconcile = AdmissionReconciler(
            client=client,
            runs=runs,
            index=index,
            writer=writer,
            policy=policy,
            namespaces=settings.namespaces,
            now=now,
        )

    def denial(self, run: Cached) -> Deny | None:
        """Why the run could not be admitted now; what it references may have changed since it was admitted."""
        violation = policy_violation(self._references.request(run), self._policy)
        return violation if isinstance(violation, Deny) else None
