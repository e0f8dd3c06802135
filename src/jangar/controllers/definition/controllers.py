"""The registrations of the controllers that only validate: one for each kind of definition."""

from collections.abc import Callable
from typing import Final

from jangar.api.agents.agent import AGENT
from jangar.api.agents.implementation import IMPLEMENTATION_SPEC
from jangar.api.agents.provider import AGENT_PROVIDER
from jangar.api.agents.vcs import VERSION_CONTROL_PROVIDER
from jangar.api.kinds import KINDS
from jangar.api.not_built import KINDS_NOT_BUILT
from jangar.api.orchestration import ORCHESTRATION
from jangar.controllers.definition.checks import (
    AgentCheck,
    Check,
    NotBuiltCheck,
    OrchestrationCheck,
    check_provider,
    check_task,
    check_tool,
    check_version_control,
)
from jangar.controllers.definition.reconciler import DefinitionReconciler
from jangar.controllers.engine_settings import EngineSettings
from jangar.controllers.informers import (
    AGENT_DEFINITIONS,
    OPTIONAL,
    ORCHESTRATIONS,
    TOOLS,
    Source,
    source_of,
)
from jangar.controllers.reference_index import all_in_namespace, referring_to
from jangar.controllers.registration import (
    ControllerContext,
    Reconciliation,
    Registration,
    Watch,
    always,
    updates_status,
)
from jangar.controllers.resources import kind_of
from jangar.controllers.watch_predicates import generation_changed
from kubekit.cache.namespaces import Namespaces


def definition_controller(
    own: Source,
    *watches: Watch,
    check: Callable[[ControllerContext], Check],
    namespaces: Callable[[EngineSettings], Namespaces],
    is_enabled: Callable[[EngineSettings], bool] = always,
) -> Registration:
    """A controller that validates the objects of a kind and writes whether they are ready."""

    def reconciler(context: ControllerContext) -> Reconciliation:
        return Reconciliation(
            reconcile=DefinitionReconciler(
                informer=context.informers[own],
                writer=context.writer,
                check=check(context),
                now=context.now,
            )
        )

    kind = kind_of(own.resource)
    return Registration(
        name=kind.singular,
        own=own,
        watches=(Watch(source=own), *watches),
        reconciler=reconciler,
        rules=(updates_status(kind),),
        namespaces=namespaces,
        is_enabled=is_enabled,
    )


ORCHESTRATION_CONTROLLER: Final = definition_controller(
    ORCHESTRATIONS,
    Watch(source=ORCHESTRATIONS, keys=referring_to(ORCHESTRATION)),
    check=lambda context: OrchestrationCheck(
        orchestrations=context.informers.cache(ORCHESTRATIONS), compile_condition=context.compile_condition
    ),
    namespaces=lambda settings: settings.orchestrations,
)
TOOL_CONTROLLER: Final = definition_controller(
    TOOLS, check=lambda _: check_tool, namespaces=lambda settings: settings.supporting
)

_PROVIDERS = AGENT_DEFINITIONS[AGENT_PROVIDER.name]
AGENT_DEFINITION_CONTROLLERS: Final = tuple(
    definition_controller(
        AGENT_DEFINITIONS[kind.name],
        *watches,
        check=check,
        namespaces=lambda settings: settings.agents,
        is_enabled=lambda settings: settings.has_agents,
    )
    for kind, check, watches in (
        (
            AGENT,
            lambda context: AgentCheck(providers=context.informers.cache(_PROVIDERS)),
            (Watch(source=_PROVIDERS, keys=all_in_namespace, where=generation_changed),),
        ),
        (AGENT_PROVIDER, lambda _: check_provider, ()),
        (IMPLEMENTATION_SPEC, lambda _: check_task, ()),
        (VERSION_CONTROL_PROVIDER, lambda _: check_version_control, ()),
    )
)
NOT_BUILT_CONTROLLERS: Final = tuple(
    definition_controller(
        source_of(kind, group=OPTIONAL),
        check=lambda _, kind=kind: NotBuiltCheck(kind=kind.name),  # type: ignore[misc]
        namespaces=lambda settings: settings.supporting,
        is_enabled=lambda settings: settings.supporting.names != (),
    )
    for kind in KINDS
    if kind.name in KINDS_NOT_BUILT
)
"""Kinds that no controller acts on: Ready is False with the reason NotBuilt."""
