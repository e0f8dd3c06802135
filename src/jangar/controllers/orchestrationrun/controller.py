"""The registration of the OrchestrationRun controller."""

from typing import Final

from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN
from jangar.controllers.engine_settings import EngineSettings
from jangar.controllers.informers import AGENT_RUNS, ORCHESTRATIONS, RUNS, TOOL_RUNS, Source, source_of
from jangar.controllers.orchestrationrun.act import ActionDependencies
from jangar.controllers.orchestrationrun.definitions import Definitions
from jangar.controllers.orchestrationrun.memory import Memories
from jangar.controllers.orchestrationrun.reconciler import RunReconciler
from jangar.controllers.orchestrationrun.record import RunRecords
from jangar.controllers.reference_index import UID, by_uid, owner_of, referring_to
from jangar.controllers.registration import (
    ControllerContext,
    Reconciliation,
    Registration,
    Rule,
    Watch,
    always,
    updates,
    updates_status,
)
from jangar.controllers.watch_predicates import (
    deferred_if,
    is_new_child,
    only_status_changed,
    stop_was_requested,
)
from jangar.kinds.registry import child_kinds
from kubekit.cache.object_cache import Change
from kubekit.client.builtin import CONFIG_MAPS

_CHILDREN: Final = {source.resource.kind: source for source in (TOOL_RUNS, RUNS, AGENT_RUNS)}


def child_sources() -> list[Source]:
    """The objects that steps create, of every registered step kind."""
    others = [kind for kind in child_kinds() if kind.name not in _CHILDREN]
    return [*_CHILDREN.values(), *(source_of(kind, {UID: by_uid}) for kind in others)]


def _reconciler(context: ControllerContext) -> Reconciliation:
    settings, informers = context.settings, context.informers
    runs, orchestrations = informers[RUNS], informers[ORCHESTRATIONS]
    children = {
        source.resource.kind: informer
        for source in child_sources()
        if (informer := informers.get(source)) is not None
    }
    memories = Memories(tuple(informer.cache for informer in children.values()))

    def forget_deleted(change: Change) -> None:
        if change.new is None:
            memories.forget(change.subject.uid)

    for informer in children.values():
        informer.subscribe(memories.record_change)
    runs.subscribe(forget_deleted)
    reconcile = RunReconciler(
        dependencies=ActionDependencies(
            client=context.client,
            writes=context.writes,
            runs=runs,
            children=children,
            definitions=Definitions(
                context.client,
                orchestrations=orchestrations.cache,
                runs=runs.cache,
                resource=runs.resource,
                compile_condition=context.compile_condition,
                runs_here=lambda kind: kind.name in children,
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


def run_controller() -> Registration:
    """The controller of runs, which watches the children of every registered step kind."""
    children = child_sources()
    return Registration(
        name="orchestrationrun",
        own=RUNS,
        watches=(
            Watch(source=RUNS, where=stop_was_requested, is_urgent=True),
            Watch(source=RUNS, delay=deferred_if(only_status_changed)),
            *(
                Watch(
                    source=source,
                    keys=owner_of(ORCHESTRATION_RUN),
                    delay=deferred_if(is_new_child),
                    is_enabled=_runs_agents if source is AGENT_RUNS else always,
                )
                for source in children
            ),
            Watch(source=ORCHESTRATIONS, keys=referring_to(ORCHESTRATION)),
            Watch(source=RUNS, keys=referring_to(ORCHESTRATION_RUN)),
        ),
        reconciler=_reconciler,
        rules=(
            # Children: created, and steered by patches of their spec. Runs are deleted when their retention expires.
            *(updates(source.resource, "create", "patch") for source in children),
            updates(RUNS.resource, "delete"),
            updates_status(ORCHESTRATION_RUN),
            # The admission plugin OwnerReferencesPermissionEnforcement requires it to set an owner reference.
            Rule(ORCHESTRATION_RUN.group, (f"{ORCHESTRATION_RUN.plural}/finalizers",), ("update",)),
            # Snapshots of definitions, and pages of steps.
            updates(CONFIG_MAPS, "get", "list", "create", "patch"),
        ),
        namespaces=lambda settings: settings.orchestrations,
        stores_history=True,
    )


def _runs_agents(settings: EngineSettings) -> bool:
    return settings.has_agents
