"""The objects that controllers watch, as values, and the informers that cache them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from jangar.api.agents.agent import AGENT
from jangar.api.agents.agentrun import AGENT_RUN
from jangar.api.agents.implementation import IMPLEMENTATION_SPEC
from jangar.api.agents.memory import MEMORY
from jangar.api.agents.provider import AGENT_PROVIDER
from jangar.api.agents.vcs import VERSION_CONTROL_PROVIDER
from jangar.api.kind import Kind
from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN
from jangar.api.tools import TOOL, TOOL_RUN
from jangar.controllers.engine_settings import EngineSettings
from jangar.controllers.reference_index import (
    NOT_STARTED,
    UID,
    WAITS_FOR,
    awaited_by,
    by_uid,
    namespace_of_not_started,
    nested_orchestrations,
)
from jangar.controllers.resources import CHILD_UID, resource_of
from jangar.kinds.registry import RUN_KINDS
from kubekit.cache.informer import Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.cache.object_cache import Cache, Indexer, label_index
from kubekit.client.api_client import Client
from kubekit.client.builtin import JOBS, PODS
from kubekit.client.resource import Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class InformerGroup:
    """Informers that watch the same namespaces."""

    prefix: str = ""
    """Prefix of the informers' names in metrics and health messages."""
    namespaces: Callable[[EngineSettings], Namespaces]
    is_required: bool = True
    """Whether controllers start only once these informers have synced."""


SHARED: Final = InformerGroup(namespaces=lambda settings: settings.watched)
"""Every namespace of any controller: a run observes its children, a child what it references."""
OPTIONAL: Final = InformerGroup(
    prefix="not-built-", namespaces=lambda settings: settings.watched, is_required=False
)
"""Kinds whose CRDs need not be installed."""
ADMISSION: Final = InformerGroup(
    prefix="admission-",
    namespaces=lambda settings: settings.admission.namespaces if settings.admission else Namespaces.of(),
)
"""The namespaces whose runs are admitted together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Objects that an informer caches."""

    resource: Resource
    group: InformerGroup = SHARED
    labels: str = ""
    """The label selector; empty selects all objects."""
    indexes: Mapping[str, Indexer] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of its informer."""
        return f"{self.group.prefix}{self.resource.plural}"


def source_of(
    kind: Kind, indexes: Mapping[str, Indexer] | None = None, *, group: InformerGroup = SHARED
) -> Source:
    """All objects of a kind."""
    return Source(resource=resource_of(kind), group=group, indexes=indexes or {})


ORCHESTRATIONS: Final = source_of(ORCHESTRATION, {WAITS_FOR: nested_orchestrations})
RUNS: Final = source_of(
    ORCHESTRATION_RUN, {UID: by_uid, WAITS_FOR: awaited_by(RUN_KINDS[ORCHESTRATION_RUN.name])}
)
TOOLS: Final = source_of(TOOL)
TOOL_RUNS: Final = source_of(TOOL_RUN, {UID: by_uid, WAITS_FOR: awaited_by(RUN_KINDS[TOOL_RUN.name])})
AGENT_RUNS: Final = source_of(AGENT_RUN, {UID: by_uid, NOT_STARTED: namespace_of_not_started})
AGENT_DEFINITIONS: Final = {
    kind.name: source_of(kind)
    for kind in (AGENT, AGENT_PROVIDER, IMPLEMENTATION_SPEC, MEMORY, VERSION_CONTROL_PROVIDER)
}
"""The kinds that an AgentRun references, itself or through its Agent, by name."""
CHILD_JOBS: Final = Source(resource=JOBS, labels=CHILD_UID)
CHILD_PODS: Final = Source(resource=PODS, labels=CHILD_UID, indexes={CHILD_UID: label_index(CHILD_UID)})


class Informers:
    """One informer for each source; sources of different groups share one if they watch the same objects."""

    def __init__(self, client: Client, settings: EngineSettings, sources: Iterable[Source]) -> None:
        self.required: dict[str, Informer] = {}
        """By name, those that must be synced before controllers start."""
        self.optional: dict[str, Informer] = {}
        self._by_name: dict[str, Informer] = {}
        by_scope: dict[tuple[Resource, str, Namespaces], Informer] = {}
        for source in sorted(sources, key=lambda source: source.group is not SHARED):
            namespaces = source.group.namespaces(settings)
            scope = (source.resource, source.labels, namespaces)
            if source.name in self._by_name:
                continue
            if scope not in by_scope:
                by_scope[scope] = Informer(
                    client,
                    source.resource,
                    namespaces=namespaces,
                    labels=source.labels,
                    indexes=source.indexes,
                )
                started = self.required if source.group.is_required else self.optional
                started[source.name] = by_scope[scope]
            self._by_name[source.name] = by_scope[scope]

    def __getitem__(self, source: Source) -> Informer:
        return self._by_name[source.name]

    def get(self, source: Source) -> Informer | None:
        """The informer; None if no enabled controller watches the source."""
        return self._by_name.get(source.name)

    def cache(self, source: Source) -> Cache:
        return self[source].cache
