"""The controllers wired to each other: what they watch, whom a change wakes. Started and stopped by a manager."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from jangar.api.kind import Kind
from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN
from jangar.api.phases import TERMINAL
from jangar.api.tools import TOOL, TOOL_RUN
from jangar.controllers.definition.checks import OrchestrationCheck, check_tool
from jangar.controllers.definition.reconciler import DefinitionReconciler
from jangar.controllers.log_tails import LogTails
from jangar.controllers.object_writes import ObjectWrites
from jangar.controllers.orchestrationrun.act import Hands as RunHands
from jangar.controllers.orchestrationrun.definitions import Definitions
from jangar.controllers.orchestrationrun.memory import Memories
from jangar.controllers.orchestrationrun.reconciler import RunReconciler
from jangar.controllers.orchestrationrun.record import RunRecords
from jangar.controllers.orchestrationrun.retention import Keeping
from jangar.controllers.resources import CHILD_UID, resource_of
from jangar.controllers.status_writer import StatusWriter
from jangar.controllers.toolrun.act import Hands as ToolRunHands
from jangar.controllers.toolrun.observe import Caches
from jangar.controllers.toolrun.reconciler import ToolRunReconciler
from jangar.controllers.wakes import (
    asks_to_stop,
    is_new,
    is_same,
    is_status_alone,
    telling_job,
    telling_pod,
    watch_all,
)
from jangar.domain.orchestration.definition import ConditionCompiler
from jangar.domain.orchestration.observation import Limits
from jangar.domain.retention.values import NEVER, Keep
from jangar.domain.work.observation import WorkLimits
from jangar.kube.builtin import JOBS, PODS
from jangar.kube.cache import Cached
from jangar.kube.client import Client
from jangar.kube.controller import Authority, Controller
from jangar.kube.event_recorder import EventRecorder
from jangar.kube.indexers import Indexer, label_index
from jangar.kube.informer import Change, Informer
from jangar.kube.manager import Manager
from jangar.kube.namespaces import Namespaces
from jangar.kube.reconcile import Key, Reconciler
from jangar.kube.resource import Resource
from jangar.kube.sources import own_key, owner_key, versions

WAITS_FOR = "waits-for"
"""Index: what an object that has not started yet, or a definition, names."""
UID = "uid"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What operators decide about the engine."""

    orchestrations: Namespaces
    """Whose Orchestrations and runs are looked after."""
    supporting: Namespaces
    """Whose Tools and ToolRuns are."""
    run_limits: Limits = field(default_factory=Limits)
    work_limits: WorkLimits = field(default_factory=WorkLimits)
    keeping: Keeping = field(default_factory=Keeping)
    data_dir: Path | None = None
    """Where the last lines of logs are kept; else nowhere."""
    log_retention: Keep = NEVER
    service_account: str | None = None
    workers: int = 16

    @property
    def watched(self) -> Namespaces:
        """Both: a run sees its children, a child what it names."""
        names = (self.orchestrations.names, self.supporting.names)
        if None in names:
            return Namespaces.every()
        return Namespaces.of(*dict.fromkeys(name for each in names for name in each or ()))


class Engine:
    """Orchestrations, Tools and their runs."""

    def __init__(
        self,
        client: Client,
        settings: EngineSettings,
        *,
        compile_condition: ConditionCompiler,
        recorder: EventRecorder,
        now: Callable[[], datetime],
        may_act: Authority | None = None,
        on_job_missing: Callable[[], None] = lambda: None,
    ) -> None:
        self._client = client
        self._settings = settings
        self._recorder = recorder
        self._now = now
        self._may_act = may_act
        self._on_job_missing = on_job_missing
        self._writer = StatusWriter(client)
        self._writes = ObjectWrites(client)
        self.orchestrations = self._of(ORCHESTRATION, _called)
        self.runs = self._of(ORCHESTRATION_RUN, _wanted_by_run)
        self.tools = self._of(TOOL)
        self.toolruns = self._of(TOOL_RUN, _wanted_by_toolrun)
        self.jobs = self._watching(JOBS, {}, labels=CHILD_UID)
        self.pods = self._watching(PODS, {CHILD_UID: label_index(CHILD_UID)}, labels=CHILD_UID)
        directory = settings.data_dir
        self._logs = LogTails(client, directory / "log-tails", now) if directory else None
        self._memories = Memories((self.toolruns.cache, self.runs.cache))
        self.controllers = (
            self._orchestration_controller(compile_condition),
            self._tool_controller(),
            self._run_controller(compile_condition),
            self._toolrun_controller(),
        )
        """One for each kind, whatever namespaces it has."""

    def join(self, manager: Manager) -> None:
        """Have the manager run everything."""
        for informer in (self.orchestrations, self.runs, self.tools, self.toolruns, self.jobs, self.pods):
            manager.add_informer(informer.resource.plural, informer)
        for controller in self.controllers:
            manager.add_controller(controller)
        kept = self._settings.log_retention.duration
        if self._logs is not None and kept is not None:
            manager.add_service("log-tails", partial(self._logs.tidy, kept))

    def authority_gained(self) -> None:
        """From now on this process acts: everything is looked at, nothing remembered is trusted."""
        self._memories.forget_all()
        for controller in self.controllers:
            controller.enqueue_all()

    def authority_lost(self) -> None:
        """Another process may act: passes under way end."""
        for controller in self.controllers:
            controller.abandon_lost()

    def _of(self, kind: Kind, wanted: Indexer | None = None) -> Informer:
        indexes: dict[str, Indexer] = {UID: lambda cached: (cached.uid,)}
        if wanted is not None:
            indexes[WAITS_FOR] = wanted
        return self._watching(resource_of(kind), indexes)

    def _watching(self, resource: Resource, indexes: Mapping[str, Indexer], labels: str = "") -> Informer:
        return Informer(
            self._client, resource, namespaces=self._settings.watched, labels=labels, indexes=indexes
        )

    def _controller(self, name: str, reconcile: Reconciler, namespaces: Namespaces) -> Controller:
        def may_act(key: Key) -> bool:
            return key.namespace in namespaces and (self._may_act is None or self._may_act(key))

        return Controller(name, reconcile, workers=self._settings.workers, may_act=may_act)

    def _orchestration_controller(self, compile_condition: ConditionCompiler) -> Controller:
        reconcile = DefinitionReconciler(
            informer=self.orchestrations,
            writer=self._writer,
            check=OrchestrationCheck(
                orchestrations=self.orchestrations.cache, compile_condition=compile_condition
            ),
            own_fields=frozenset({"executionMode", "stepCount"}),
            now=self._now,
        )
        controller = self._controller("orchestration", reconcile, self._settings.orchestrations)
        controller.watch(self.orchestrations)
        controller.watch(self.orchestrations, _waiting_in(self.orchestrations, ORCHESTRATION.name))
        return controller

    def _tool_controller(self) -> Controller:
        reconcile = DefinitionReconciler(
            informer=self.tools,
            writer=self._writer,
            check=check_tool,
            own_fields=frozenset(),
            now=self._now,
        )
        controller = self._controller("tool", reconcile, self._settings.supporting)
        controller.watch(self.tools)
        return controller

    def _run_controller(self, compile_condition: ConditionCompiler) -> Controller:
        memories = self._memories
        self.toolruns.subscribe(memories.heard)
        self.runs.subscribe(memories.heard)
        self.runs.subscribe(lambda change: _forget(memories, change))
        hands = RunHands(
            client=self._client,
            writes=self._writes,
            runs=self.runs,
            toolruns=self.toolruns,
            definitions=Definitions(
                self._client,
                orchestrations=self.orchestrations.cache,
                runs=self.runs.cache,
                resource=self.runs.resource,
                compile_condition=compile_condition,
            ),
            recorder=self._recorder,
            request_timeout=self._settings.run_limits.request_timeout,
            now=self._now,
        )
        reconcile = RunReconciler(
            hands=hands,
            records=RunRecords(self._client, self.runs),
            memories=memories,
            recorder=self._recorder,
            limits=self._settings.run_limits,
            keeping=self._settings.keeping,
            now=self._now,
        )
        controller = self._controller("orchestrationrun", reconcile, self._settings.orchestrations)
        parent = owner_key(ORCHESTRATION_RUN.name)
        controller.watch(self.runs, where=asks_to_stop, first=True)
        watch_all(controller, self.runs, own_key, is_status_alone)
        for children in (self.runs, self.toolruns):
            watch_all(controller, children, parent, is_new)
        controller.watch(self.orchestrations, _waiting_in(self.runs, ORCHESTRATION.name))
        controller.watch(self.runs, _waiting_in(self.runs, ORCHESTRATION_RUN.name))
        return controller

    def _toolrun_controller(self) -> Controller:
        settings = self._settings
        hands = ToolRunHands(
            client=self._client,
            writes=self._writes,
            children=self.toolruns,
            jobs=self.jobs,
            pods=self.pods,
            recorder=self._recorder,
            logs=self._logs,
            service_account=settings.service_account,
            stop_bound=settings.work_limits.cancel_timeout + timedelta(seconds=30),
        )
        reconcile = ToolRunReconciler(
            caches=Caches(
                toolruns=self.toolruns.cache,
                tools=self.tools.cache,
                jobs=self.jobs.cache,
                pods=self.pods.cache,
            ),
            hands=hands,
            writer=self._writer,
            runs=self.runs.resource,
            limits=settings.work_limits,
            now=self._now,
            on_job_missing=self._on_job_missing,
        )
        controller = self._controller("toolrun", reconcile, self._settings.supporting)
        controller.watch(self.toolruns, where=asks_to_stop, first=True)
        watch_all(controller, self.toolruns, own_key, is_status_alone)
        watch_all(controller, self.jobs, owner_key(TOOL_RUN.name), is_same(telling_job))
        watch_all(controller, self.pods, _child_of_pod(self.toolruns), is_same(telling_pod))
        controller.watch(self.tools, _waiting_in(self.toolruns, TOOL.name))
        return controller


def _forget(memories: Memories, change: Change) -> None:
    if change.new is None:
        memories.forget(change.subject.uid)


def _child_of_pod(toolruns: Informer) -> Callable[[Change], Iterable[Key]]:
    """The child that a pod's Job belongs to: the pod names its uid."""

    def keys(change: Change) -> Iterable[Key]:
        uid = change.subject.labels.get(CHILD_UID, "")
        return [Key(each.namespace, each.name) for each in toolruns.cache.by(UID, uid)]

    return keys


def _waiting_in(informer: Informer, kind: str) -> Callable[[Change], Iterable[Key]]:
    """Objects that name the one that changed."""

    def keys(change: Change) -> Iterable[Key]:
        names = {f"{each.namespace}/{kind}/{each.name}" for each in versions(change)}
        return [
            Key(each.namespace, each.name) for name in names for each in informer.cache.by(WAITS_FOR, name)
        ]

    return keys


def _is_open(obj: Mapping[str, Any]) -> bool:
    """Whether it may still wait for what it names."""
    status = obj.get("status") or {}
    return not (status.get("snapshotRef") or status.get("job") or status.get("phase") in TERMINAL)


def _wanted_by_toolrun(cached: Cached) -> Iterable[str]:
    obj = cached.view
    name = ((obj.get("spec") or {}).get("toolRef") or {}).get("name")
    return (f"{cached.namespace}/{TOOL.name}/{name}",) if name and _is_open(obj) else ()


def _wanted_by_run(cached: Cached) -> Iterable[str]:
    obj = cached.view
    if not _is_open(obj):
        return ()
    spec = obj.get("spec") or {}
    wanted = {
        ORCHESTRATION.name: (spec.get("orchestrationRef") or {}).get("name"),
        ORCHESTRATION_RUN.name: (spec.get("retryOf") or {}).get("name"),
    }
    return [f"{cached.namespace}/{kind}/{name}" for kind, name in wanted.items() if name]


def _called(cached: Cached) -> Iterable[str]:
    steps = (cached.view.get("spec") or {}).get("steps") or ()
    targets = {(step.get("orchestrationRef") or {}).get("name") for step in steps}
    return [f"{cached.namespace}/{ORCHESTRATION.name}/{name}" for name in targets if name]
