"""The controllers wired to each other: what they watch, whom a change wakes. Started and stopped by a manager."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from jangar.api.agents.agentrun import AGENT_RUN
from jangar.api.kind import Kind
from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN
from jangar.api.tools import TOOL, TOOL_RUN
from jangar.controllers.admission.wiring import Admission, watched_kinds
from jangar.controllers.agentrun.agents import Agents
from jangar.controllers.agentrun.order import AgentCaches, AgentRunOrders
from jangar.controllers.definition.checks import OrchestrationCheck, check_tool
from jangar.controllers.definition.not_built import NotBuiltKinds
from jangar.controllers.definition.reconciler import DefinitionReconciler
from jangar.controllers.engine_settings import EngineSettings
from jangar.controllers.history.keeper import HistoryKeeper
from jangar.controllers.job_execution.act import ActionDependencies as WorkHands
from jangar.controllers.job_execution.app_tokens import AppTokens
from jangar.controllers.job_execution.observe import Caches
from jangar.controllers.job_execution.order import OrderReader
from jangar.controllers.job_execution.reconciler import WorkReconciler
from jangar.controllers.log_tails import LogTails
from jangar.controllers.object_writes import ObjectWrites
from jangar.controllers.observers import NO_OBSERVERS, Observers
from jangar.controllers.orchestrationrun.act import ActionDependencies as RunHands
from jangar.controllers.orchestrationrun.definitions import Definitions
from jangar.controllers.orchestrationrun.memory import Memories
from jangar.controllers.orchestrationrun.reconciler import RunReconciler
from jangar.controllers.orchestrationrun.record import RunRecords
from jangar.controllers.quarantine import quarantine_of
from jangar.controllers.reference_index import (
    UID,
    WAITS_FOR,
    awaited_by,
    child_of_pod,
    nested_orchestrations,
    waiting_in,
)
from jangar.controllers.resources import CHILD_UID, resource_of
from jangar.controllers.status_writer import StatusWriter
from jangar.controllers.toolrun.order import ToolRunOrders
from jangar.controllers.watch_predicates import (
    asks_to_stop,
    is_new,
    is_same,
    is_status_alone,
    telling_job,
    telling_pod,
    watch_all,
)
from jangar.domain.job_execution.observation import WorkLimits
from jangar.domain.orchestration.definition import ConditionCompiler
from jangar.kinds.registry import RUN_KINDS, child_kinds
from jangar.store.history import History
from kubekit.cache.indexers import Indexer, label_index
from kubekit.cache.informer import Change, Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client
from kubekit.client.builtin import JOBS, PODS
from kubekit.client.resource import Resource
from kubekit.controller.controller import Authority, Controller
from kubekit.controller.manager import Manager
from kubekit.controller.reconcile import Key, Reconciler
from kubekit.controller.sources import own_key, owner_key
from kubekit.controller.urgent_work import UrgentWorkGate
from kubekit.events.event_recorder import EventRecorder

GRACE_MARGIN = timedelta(seconds=10)
"""Between the end of the longest grace period and the bound of a stop: for its container to be seen to have ended."""


class Engine:
    """Orchestrations, Tools and their runs."""

    def __init__(  # noqa: PLR0913 - each is one of the parts that it is made of
        self,
        client: Client,
        settings: EngineSettings,
        *,
        compile_condition: ConditionCompiler,
        compile_loop: ConditionCompiler,
        recorder: EventRecorder,
        now: Callable[[], datetime],
        may_act: Authority | None = None,
        urgent_work: UrgentWorkGate | None = None,
        observers: Observers = NO_OBSERVERS,
        open_history: Callable[[], Awaitable[History]] | None = None,
    ) -> None:
        self._client = client
        self._settings = settings
        self._compile_loop = compile_loop
        self._recorder = recorder
        self._now = now
        self._may_act = may_act
        self._urgent_work = urgent_work or UrgentWorkGate()
        self._observers = observers
        self._writer = StatusWriter(client)
        self._writes = ObjectWrites(client)
        self.orchestrations = self._of(ORCHESTRATION, nested_orchestrations)
        self.runs = self._of(ORCHESTRATION_RUN, awaited_by(RUN_KINDS[ORCHESTRATION_RUN.name]))
        self.tools = self._of(TOOL)
        self.toolruns = self._of(TOOL_RUN, awaited_by(RUN_KINDS[TOOL_RUN.name]))
        self.jobs = self._watching(JOBS, {}, labels=CHILD_UID)
        self.pods = self._watching(PODS, {CHILD_UID: label_index(CHILD_UID)}, labels=CHILD_UID)
        self.agents = Agents.watching(self._indexed) if settings.agents.names != () else None
        self._other_children = tuple(self._of(kind) for kind in child_kinds() if kind.name not in RUN_KINDS)
        supports = settings.supporting.names != ()
        self.not_built = NotBuiltKinds.watching(self._of) if supports else NotBuiltKinds()
        directory = settings.data_dir
        self._logs = (
            LogTails(client, directory / "log-tails", now, pods=self.pods.cache) if directory else None
        )
        self.history = self._history(open_history) if open_history else None
        self._memories = Memories(tuple(child.cache for child in self._children))
        self._admission_informers: list[Informer] = []
        self.admission = self._admission()
        self.controllers = (
            self._orchestration_controller(compile_condition),
            self._tool_controller(),
            self._run_controller(compile_condition),
            self._toolrun_controller(),
            *self._agent_controllers(),
            *self.not_built.controllers(self._supporting_controller, self._writer, now),
            *([self.admission.controller] if self.admission else ()),
        )
        """One for each kind, whatever namespaces it has."""
        if self.history is not None:
            looked_after = {item.name: item for item in self.controllers}
            for informer in self._children:
                if controller := looked_after.get(informer.resource.kind.lower()):
                    self.history.follow(informer, wake=controller.enqueue, may_act=controller.may_act)

    def join(self, manager: Manager) -> None:
        """Have the manager run everything."""
        own = (self.orchestrations, self.runs, self.tools, self.toolruns, self.jobs, self.pods)
        for informer in (*own, *self._other_children, *(self.agents.informers if self.agents else ())):
            manager.add_informer(informer.resource.plural, informer)
        self.not_built.join(manager)
        for informer in self._admission_informers:
            manager.add_informer(f"admission-{informer.resource.plural}", informer)
        for controller in self.controllers:
            manager.add_controller(controller)
        if self.history is not None:
            manager.add_service("history", self.history.run)
        kept = self._settings.log_retention.duration
        if self._logs is not None and kept is not None:
            manager.add_service("log-tails", partial(self._logs.tidy, kept))

    def authority_gained(self) -> None:
        """From now on this process acts: everything is looked at, nothing remembered is trusted."""
        self.trust_nothing()
        if self.history is not None:
            self.history.look_at_all()
        for controller in self.controllers:
            controller.enqueue_all()

    def trust_nothing(self) -> None:
        """Others may have acted: nothing remembered counts any more."""
        self._memories.forget_all()
        if self.admission is not None:
            self.admission.authority_gained()

    def authority_lost(self, may_go_on: Authority | None = None) -> None:
        """Another process may act: passes under way end, but for those that `may_go_on`."""
        for controller in self.controllers:
            controller.abandon_lost(may_go_on)

    def under_way(self) -> Iterator[Key]:
        """What passes are at work on."""
        for controller in self.controllers:
            yield from controller.under_way

    def _history(self, open_history: Callable[[], Awaitable[History]]) -> HistoryKeeper:
        keeper = HistoryKeeper(
            open_history=open_history,
            client=self._client,
            recorder=self._recorder,
            logs=self._logs,
            log_retention=self._settings.log_retention.duration,
            retention=self._settings.history_retention.duration,
        )
        if self._logs is not None:
            self._logs.on_kept = keeper.tail_kept
        return keeper

    def _of(self, kind: Kind, wanted: Indexer | None = None) -> Informer:
        indexes: dict[str, Indexer] = {UID: lambda cached: (cached.uid,)}
        if wanted is not None:
            indexes[WAITS_FOR] = wanted
        return self._watching(resource_of(kind), indexes)

    def _indexed(self, kind: Kind, more: Mapping[str, Indexer]) -> Informer:
        return self._watching(resource_of(kind), {UID: lambda cached: (cached.uid,), **more})

    @property
    def _children(self) -> tuple[Informer, ...]:
        """Of every kind that a run starts."""
        agents = (self.agents.runs,) if self.agents else ()
        return (self.toolruns, self.runs, *agents, *self._other_children)

    def _watching(self, resource: Resource, indexes: Mapping[str, Indexer], labels: str = "") -> Informer:
        return Informer(
            self._client, resource, namespaces=self._settings.watched, labels=labels, indexes=indexes
        )

    def _admission(self) -> Admission | None:
        """With the informers of the agents where these look after the same namespaces."""
        settings = self._settings.admission
        if settings is None:
            return None
        agents = self.agents if settings.namespaces == self._settings.watched else None
        shared = {AGENT_RUN.name: agents.runs, **agents.named} if agents else {}
        if settings.namespaces == self._settings.watched:
            shared |= {TOOL_RUN.name: self.toolruns, TOOL.name: self.tools}
        self._admission_informers = [
            Informer(self._client, resource_of(kind), namespaces=settings.namespaces)
            for kind in watched_kinds(settings.policy)
            if kind.name not in shared
        ]
        return Admission(
            self._client,
            settings,
            informers=shared
            | {
                admission_informer.resource.kind: admission_informer
                for admission_informer in self._admission_informers
            },
            orchestrationruns=self.runs,
            orchestrations=self.orchestrations,
            now=self._now,
            may_act=self._may_act,
        )

    def _controller(
        self, name: str, reconcile: Reconciler, namespaces: Namespaces, own: Informer
    ) -> Controller:
        def may_act(key: Key) -> bool:
            return key.namespace in namespaces and (self._may_act is None or self._may_act(key))

        return Controller(
            name,
            reconcile,
            workers=self._settings.workers,
            may_act=may_act,
            urgent_work=self._urgent_work,
            quarantine=quarantine_of(own, self._client, self._now),
        )

    def _supporting_controller(self, name: str, reconcile: Reconciler, own: Informer) -> Controller:
        return self._controller(name, reconcile, self._settings.supporting, own)

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
        controller = self._controller(
            "orchestration", reconcile, self._settings.orchestrations, self.orchestrations
        )
        controller.watch(self.orchestrations)
        controller.watch(self.orchestrations, waiting_in(self.orchestrations, ORCHESTRATION.name))
        return controller

    def _tool_controller(self) -> Controller:
        reconcile = DefinitionReconciler(
            informer=self.tools,
            writer=self._writer,
            check=check_tool,
            own_fields=frozenset(),
            now=self._now,
        )
        controller = self._supporting_controller("tool", reconcile, self.tools)
        controller.watch(self.tools)
        return controller

    def _run_controller(self, compile_condition: ConditionCompiler) -> Controller:
        memories = self._memories
        children = {informer.resource.kind: informer for informer in self._children}
        for informer in self._children:
            informer.subscribe(memories.heard)
        self.runs.subscribe(lambda change: _forget(memories, change))
        hands = RunHands(
            client=self._client,
            writes=self._writes,
            runs=self.runs,
            children=children,
            definitions=Definitions(
                self._client,
                orchestrations=self.orchestrations.cache,
                runs=self.runs.cache,
                resource=self.runs.resource,
                compile_condition=compile_condition,
                runs_here=lambda kind: kind.name in children,
            ),
            recorder=self._recorder,
            request_timeout=self._settings.run_limits.request_timeout,
            inherited_labels=self._settings.policy.labels.required,
            now=self._now,
        )
        reconcile = RunReconciler(
            dependencies=hands,
            records=RunRecords(self._client, self.runs),
            memories=memories,
            recorder=self._recorder,
            limits=self._settings.run_limits,
            keeping=self._settings.keeping,
            now=self._now,
            history=self.history,
            observers=self._observers,
        )
        controller = self._controller("orchestrationrun", reconcile, self._settings.orchestrations, self.runs)
        parent = owner_key(ORCHESTRATION_RUN.name)
        controller.watch(self.runs, where=asks_to_stop, first=True)
        watch_all(controller, self.runs, own_key, is_status_alone)
        for informer in self._children:
            watch_all(controller, informer, parent, is_new)
        controller.watch(self.orchestrations, waiting_in(self.runs, ORCHESTRATION.name))
        controller.watch(self.runs, waiting_in(self.runs, ORCHESTRATION_RUN.name))
        return controller

    def _hands(self, children: Informer) -> WorkHands:
        settings = self._settings
        return WorkHands(
            client=self._client,
            writes=self._writes,
            children=children,
            jobs=self.jobs,
            pods=self.pods,
            recorder=self._recorder,
            tokens=AppTokens(self._client, self._now, hosts=settings.policy.provider_hosts),
            logs=self._logs,
            service_account=settings.service_account,
            security_context=settings.security_context,
            stop_bound=settings.work_limits.cancel_timeout + timedelta(seconds=30),
            max_grace=settings.work_limits.cancel_timeout - GRACE_MARGIN,
            share_processes=settings.share_processes,
        )

    def _work(self, children: Informer, order: OrderReader, limits: WorkLimits) -> WorkReconciler:
        return WorkReconciler(
            caches=Caches(children=children.cache, jobs=self.jobs.cache, pods=self.pods.cache),
            order=order,
            hands=self._hands(children),
            writer=self._writer,
            owners={run.name: resource_of(run.kind) for run in RUN_KINDS.values() if run.owns_runs},
            limits=limits,
            now=self._now,
            history=self.history,
            observers=self._observers,
        )

    def _agent_controllers(self) -> list[Controller]:
        agents, settings = self.agents, self._settings
        if agents is None:
            return []
        caches = AgentCaches(of={kind: item.cache for kind, item in agents.named.items()})
        orders = AgentRunOrders(
            caches=caches,
            defaults=settings.agent_defaults,
            compile_loop=self._compile_loop,
            denial=self.admission.denial if self.admission else None,
        )
        limits = replace(settings.work_limits, orchestration_retention=None)

        def made(name: str, reconcile: Reconciler, own: Informer) -> Controller:
            return self._controller(name, reconcile, settings.agents, own)

        runs = agents.run_controller(
            made,
            self._work(agents.runs, orders, limits),
            jobs=self.jobs,
            pods=self.pods,
            child_of_pod=child_of_pod(agents.runs),
            beside=[self.admission.bindings] if self.admission else (),
        )
        return [runs, *agents.definition_controllers(made, self._writer, self._now)]

    def _toolrun_controller(self) -> Controller:
        orders = ToolRunOrders(tools=self.tools.cache, policy=self._settings.policy)
        reconcile = self._work(self.toolruns, orders, self._settings.work_limits)
        controller = self._controller("toolrun", reconcile, self._settings.supporting, self.toolruns)
        controller.watch(self.toolruns, where=asks_to_stop, first=True)
        watch_all(controller, self.toolruns, own_key, is_status_alone)
        watch_all(controller, self.jobs, owner_key(TOOL_RUN.name), is_same(telling_job))
        watch_all(controller, self.pods, child_of_pod(self.toolruns), is_same(telling_pod))
        controller.watch(self.tools, waiting_in(self.toolruns, TOOL.name))
        return controller


def _forget(memories: Memories, change: Change) -> None:
    if change.new is None:
        memories.forget(change.subject.uid)
