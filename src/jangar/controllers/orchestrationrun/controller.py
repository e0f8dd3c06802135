"""The registration of the OrchestrationRun controller."""

from typing import Final

from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN
from jangar.api.phases import StepKind
from jangar.controllers.informers import AGENT_RUNS, ORCHESTRATIONS, RUNS, TOOL_RUNS
from jangar.controllers.orchestrationrun.act import ActionDependencies
from jangar.controllers.orchestrationrun.children import KINDS
from jangar.controllers.orchestrationrun.definitions import Definitions
from jangar.controllers.orchestrationrun.memory import Memories
from jangar.controllers.orchestrationrun.reconciler import RunReconciler
from jangar.controllers.orchestrationrun.record import RunRecords
from jangar.controllers.reference_index import owner_of, referring_to
from jangar.controllers.registration import (
    ControllerContext,
    Reconciliation,
    Registration,
    Rule,
    Watch,
    updates,
    updates_status,
)
from jangar.controllers.watch_predicates import (
    deferred_if,
    is_new_child,
    only_status_changed,
    stop_was_requested,
)
from kubekit.cache.object_cache import Change
from kubekit.client.builtin import CONFIG_MAPS

CHILDREN: Final = (TOOL_RUNS, RUNS, AGENT_RUNS)
"""The objects that steps create."""


def _reconciler(context: ControllerContext) -> Reconciliation:
    settings, informers = context.settings, context.informers
    runs, orchestrations, agentruns = informers[RUNS], informers[ORCHESTRATIONS], informers.get(AGENT_RUNS)
    children = [informer for source in CHILDREN if (informer := informers.get(source)) is not None]
    memories = Memories(tuple(informer.cache for informer in children))

    def forget_deleted(change: Change) -> None:
        if change.new is None:
            memories.forget(change.subject.uid)

    for informer in children:
        informer.subscribe(memories.heard)
    runs.subscribe(forget_deleted)
    reconcile = RunReconciler(
        hands=ActionDependencies(
            client=context.client,
            writes=context.writes,
            runs=runs,
            toolruns=informers[TOOL_RUNS],
            agentruns=agentruns,
            definitions=Definitions(
                context.client,
                orchestrations=orchestrations.cache,
                runs=runs.cache,
                resource=runs.resource,
                compile_condition=context.compile_condition,
                kinds=[kind for kind in KINDS if agentruns or kind is not StepKind.AGENT_RUN],
            ),
            recorder=context.recorder,
            request_timeout=settings.run_limits.request_timeout,
            inherited_labels=settings.policy.labels.required,
            now=context.now,
        ),
        records=RunRecords(context.client, runs),
        memories=memories,
        recorder=context.recorder,
        limits=settings.run_limits,
        keeping=settings.keeping,
        now=context.now,
        history=context.history,
        observers=context.observers,
    )
    return Reconciliation(reconcile=reconcile, forget=memories.forget_all)


RUN_CONTROLLER: Final = Registration(
    name="orchestrationrun",
    own=RUNS,
    watches=(
        Watch(source=RUNS, where=stop_was_requested, is_urgent=True),
        Watch(source=RUNS, delay=deferred_if(only_status_changed)),
        Watch(source=TOOL_RUNS, keys=owner_of(ORCHESTRATION_RUN), delay=deferred_if(is_new_child)),
        Watch(source=RUNS, keys=owner_of(ORCHESTRATION_RUN), delay=deferred_if(is_new_child)),
        Watch(
            source=AGENT_RUNS,
            keys=owner_of(ORCHESTRATION_RUN),
            delay=deferred_if(is_new_child),
            is_enabled=lambda settings: settings.has_agents,
        ),
        Watch(source=ORCHESTRATIONS, keys=referring_to(ORCHESTRATION)),
        Watch(source=RUNS, keys=referring_to(ORCHESTRATION_RUN)),
    ),
    reconciler=_reconciler,
    rules=(
        # Children: created, steered by patches of their spec, and deleted when retention expires.
        updates(RUNS.resource, "create", "patch", "delete"),
        updates(TOOL_RUNS.resource, "create", "patch"),
        updates(AGENT_RUNS.resource, "create", "patch"),
        updates_status(ORCHESTRATION_RUN),
        # The admission plugin OwnerReferencesPermissionEnforcement requires it of whoever sets an owner reference.
        Rule(ORCHESTRATION_RUN.group, (f"{ORCHESTRATION_RUN.plural}/finalizers",), ("update",)),
        # Snapshots of definitions, and pages of steps.
        updates(CONFIG_MAPS, "get", "list", "create", "patch"),
    ),
    namespaces=lambda settings: settings.orchestrations,
    stores_history=True,
)
