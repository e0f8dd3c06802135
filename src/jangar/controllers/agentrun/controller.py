"""The registration of the AgentRun controller."""

from dataclasses import replace
from typing import Final

from jangar.api.security import SECRET_BINDING
from jangar.controllers.admission.admission import REFERENCED
from jangar.controllers.agentrun.job_request import AgentCaches, AgentRunRequests, is_template
from jangar.controllers.informers import AGENT_DEFINITIONS, AGENT_RUNS
from jangar.controllers.job_execution.controller import job_reconciler, job_rules, job_watches
from jangar.controllers.reference_index import not_started
from jangar.controllers.registration import ControllerContext, Reconciliation, Registration, Watch
from jangar.controllers.watch_predicates import generation_changed
from kubekit.controller.reconcile import DONE, Key, Result


def _reconciler(context: ControllerContext) -> Reconciliation:
    settings = context.settings
    requests = AgentRunRequests(
        caches=AgentCaches(
            {kind: context.informers.cache(source) for kind, source in AGENT_DEFINITIONS.items()}
        ),
        defaults=settings.agent_defaults,
        compile_loop=context.compile_loop,
        denial=context.admission.denial if context.admission else None,
    )
    limits = replace(settings.work_limits, orchestration_retention=None)
    reconcile = job_reconciler(context, AGENT_RUNS, requests, limits)
    runs = context.informers.cache(AGENT_RUNS)

    async def unless_template(key: Key) -> Result:
        run = runs.get(key.namespace, key.name)
        return DONE if run is None or is_template(run) else await reconcile(key)

    return Reconciliation(reconcile=unless_template)


AGENT_RUN_CONTROLLER: Final = Registration(
    name="agentrun",
    own=AGENT_RUNS,
    watches=(
        *job_watches(AGENT_RUNS),
        *(
            Watch(source=source, keys=not_started, where=generation_changed)
            for source in AGENT_DEFINITIONS.values()
        ),
        # A SecretBinding decides whether a run may start, although no run references one.
        Watch(
            source=REFERENCED[SECRET_BINDING.name],
            keys=not_started,
            where=generation_changed,
            is_enabled=lambda settings: settings.admission is not None,
        ),
    ),
    reconciler=_reconciler,
    rules=job_rules(AGENT_RUNS),
    namespaces=lambda settings: settings.agents,
    is_enabled=lambda settings: settings.has_agents,
    stores_history=True,
)
