"""What a controller is: a value with the kind that it reconciles, its watches, its reconciler and its RBAC rules."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from jangar.api.kind import Kind
from jangar.controllers.admission.admission import Admission
from jangar.controllers.engine_settings import EngineSettings
from jangar.controllers.history.keeper import HistoryKeeper
from jangar.controllers.informers import Informers, Source
from jangar.controllers.log_tails import LogTails
from jangar.controllers.object_writes import ObjectWrites
from jangar.controllers.observers import Observers
from jangar.controllers.reference_index import KeysOf, itself
from jangar.controllers.status_writer import StatusWriter
from jangar.domain.orchestration.definition import ConditionCompiler
from kubekit.cache.namespaces import Namespaces
from kubekit.cache.object_cache import Change
from kubekit.client.api_client import Client
from kubekit.client.resource import Resource
from kubekit.controller.reconcile import Key, Reconciler
from kubekit.events.event_recorder import EventRecorder


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerContext:
    """What the reconcilers of one process share."""

    client: Client
    settings: EngineSettings
    informers: Informers
    writer: StatusWriter
    writes: ObjectWrites
    recorder: EventRecorder
    observers: Observers
    now: Callable[[], datetime]
    compile_condition: ConditionCompiler
    compile_loop: ConditionCompiler
    logs: LogTails | None
    """None if log tails are not stored."""
    history: HistoryKeeper | None
    """None if there is no database."""
    admission: Admission | None
    """None if every run may start."""


def always(settings: EngineSettings) -> bool:
    """Enabled whatever the settings are."""
    del settings
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """One reason to reconcile: changes of some objects, and the keys that each change enqueues."""

    source: Source
    keys: KeysOf = itself
    where: Callable[[Change], bool] | None = None
    """Ignores other changes."""
    delay: float | Callable[[Change], float] = 0.0
    """Seconds until the keys are enqueued."""
    is_urgent: bool = False
    """The keys go ahead of all others."""
    is_enabled: Callable[[EngineSettings], bool] = always


@dataclass(frozen=True, slots=True)
class Rule:
    """RBAC: verbs on resources of one API group; `resources` may name subresources, such as `pods/log`."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]


READ = ("get", "list", "watch")


def updates_status(kind: Kind) -> Rule:
    """The right to write the status of a kind."""
    return Rule(kind.group, (f"{kind.plural}/status",), ("patch",))


def updates(resource: Resource, *verbs: str) -> Rule:
    """The right to change the objects of a resource, in addition to reading what is watched."""
    return Rule(resource.group, (resource.plural,), verbs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """A reconciler, and how to invalidate what it remembers between passes."""

    reconcile: Reconciler
    forget: Callable[[], None] | None = None
    """Another process may have acted: nothing remembered is valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """One controller."""

    name: str
    """The name of its queue in metrics and logs."""
    own: Source
    """The objects that it reconciles."""
    watches: tuple[Watch, ...]
    reconciler: Callable[[ControllerContext], Reconciliation]
    rules: tuple[Rule, ...]
    """What it may do beyond reading the objects that it watches."""
    namespaces: Callable[[EngineSettings], Namespaces]
    """Whose objects it reconciles."""
    is_enabled: Callable[[EngineSettings], bool] = always
    stores_history: bool = False
    """Objects that have ended are stored in history."""
    single_key: Key | None = None
    """Reconcile all objects together, under this key and with one worker."""

    def __post_init__(self) -> None:
        if not self.rules:
            raise ValueError(
                f"controller {self.name} declares no rules: a controller at least updates status"
            )
        if not self.watches:
            raise ValueError(f"controller {self.name} watches nothing")

    @property
    def granted(self) -> tuple[Rule, ...]:
        """Everything that the controller may do: read what it watches, and its own rules."""
        resources: Mapping[Resource, None] = dict.fromkeys(watch.source.resource for watch in self.watches)
        reads = tuple(Rule(resource.group, (resource.plural,), READ) for resource in resources)
        return (*reads, *self.rules)
