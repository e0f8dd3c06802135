"""The process `jangar controllers`: runs the engine on any Kubernetes API, as one of several sharded replicas."""

import asyncio
import logging
import os
import socket
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from jangar import __version__
from jangar.controllers.engine import Engine
from jangar.controllers.engine_settings import AdmissionSettings, EngineSettings
from jangar.controllers.history.keeper import HistoryKeeper
from jangar.controllers.observers import NO_OBSERVERS, Observers
from jangar.controllers.orchestrationrun.retention import Keeping
from jangar.domain.agentrun.command import RUNNER, AgentDefaults
from jangar.domain.job_execution.command import PodSettings
from jangar.domain.job_execution.observation import WorkLimits
from jangar.domain.orchestration.planning.observation import Limits
from jangar.domain.policies.policy import AdmissionPolicy
from jangar.lint.conditions import compile_loop, compile_when
from jangar.operations.cluster_status import DOMAIN
from jangar.processes.history import address_of, opener, tails_directory
from jangar.processes.lifecycle import collecting_when_idle, on_stop_signal
from jangar.settings.controllers import (
    ControllerSettings,
    admission_policy,
    controller_settings,
    startup_warnings,
)
from jangar.settings.forms import Scope
from jangar.store.urls import DatabaseAddress
from jangar.telemetry.metrics import Metrics
from kubekit.cache.informer import Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client
from kubekit.client.connection import default
from kubekit.client.transport import ObservedTransport, Transport
from kubekit.controller.controller import Authority, Controller
from kubekit.controller.fence import FencedTransport
from kubekit.controller.manager import Manager, Stage
from kubekit.controller.reconcile import Key
from kubekit.controller.urgent_work import UrgentWorkGate
from kubekit.controller.watchdog import Watchdog
from kubekit.events.event_recorder import EventLimits, EventRecorder
from kubekit.leases.lease import LeaseTiming
from kubekit.leases.shard_records import SetNames, identity_of
from kubekit.leases.shard_set import Member, ShardSet, Work
from kubekit.steady_clock import SteadyClock
from kubekit.times import rfc3339_seconds

RESYNC_DELAY_SECONDS: Final = 0.02
"""Shards gained within this time cause a single resync."""


class ShardedEngine(Protocol):
    """What reconciles the objects in the shards."""

    def invalidate_memory(self) -> None: ...

    def authority_gained(self) -> None: ...

    def authority_lost(self, may_go_on: Authority | None = None) -> None: ...

    def keys_in_progress(self) -> Iterable[Key]: ...


class ShardCoordinator:
    """The shards of this process and the engine that reconciles the objects in them."""

    def __init__(
        self,
        client: Client,
        names: SetNames,
        *,
        member: Member,
        count_if_new: int,
        now: Callable[[], datetime],
        timing: LeaseTiming,
        is_ready: Callable[[], bool],
    ) -> None:
        self._engine: ShardedEngine | None = None
        self._resync: asyncio.TimerHandle | None = None
        self.shards = ShardSet(
            client,
            names,
            member=member,
            count_if_new=count_if_new,
            now=now,
            timing=timing,
            work=Work(is_ready=is_ready, is_idle=self._is_idle),
        )
        self.shards.subscribe(self._on_change)

    def attach(self, engine: ShardedEngine) -> None:
        """Notify this engine of gained and lost shards from now on."""
        self._engine = engine

    def _is_idle(self, shard: int) -> bool:
        engine = self._engine
        return engine is None or all(self.shards.shard_of(key) != shard for key in engine.keys_in_progress())

    def _on_change(self, _: int, is_held: bool) -> None:
        if self._engine is None:
            return
        if not is_held:
            self._engine.authority_lost(self.shards.holds)
            return
        # The previous holder may have written a moment ago. The resync waits to cover the shards gained next as well.
        self._engine.invalidate_memory()
        if self._resync is None:
            self._resync = asyncio.get_running_loop().call_later(
                RESYNC_DELAY_SECONDS, self._resync_all, self._engine
            )

    def _resync_all(self, engine: ShardedEngine) -> None:
        self._resync = None
        engine.authority_gained()


def shard_coordinator(
    client: Client,
    settings: ControllerSettings,
    *,
    default_namespace: str,
    now: Callable[[], datetime],
    is_ready: Callable[[], bool],
) -> ShardCoordinator:
    """The sharding that the settings describe."""
    host = socket.gethostname()
    return ShardCoordinator(
        client,
        SetNames(
            name=settings.lease_name,
            namespace=settings.lease_namespace or settings.pod_namespace or default_namespace,
            domain=DOMAIN,
        ),
        member=Member(
            identity=identity_of(host, uuid.uuid4().hex[:8]),
            about={
                "version": __version__,
                "host": host,
                "started-at": rfc3339_seconds(now()),
            },
        ),
        count_if_new=settings.controller_shards,
        now=now,
        timing=LeaseTiming(
            duration=int(settings.lease_duration.total_seconds()),
            renew_deadline=settings.renew_deadline.total_seconds(),
            retry_period=settings.retry_period.total_seconds(),
        ),
        is_ready=is_ready,
    )


log = logging.getLogger("jangar.controllers")

COMPONENT = "jangar-controllers"
REQUEST_TIMEOUT = timedelta(seconds=10)
EVENT_LIMITS = EventLimits(burst=200, refill_seconds=10.0, patience=0.1)
"""A run records events for each of its steps; the recorder combines those of a large run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllersProcess:
    """Command-line options: which API server and namespaces, and the data directory."""

    kubeconfig: Path | None = None
    context: str = ""
    namespaces: Namespaces | None = None
    """Overrides the settings; None means the namespaces in the settings, or else that of the kubeconfig."""
    data_dir: Path | None = None


async def run_controllers(where: ControllersProcess, environment: Mapping[str, str] = os.environ) -> None:
    """Run until SIGINT or SIGTERM. Workloads keep running."""
    settings = controller_settings(environment)
    history = address_of(settings.database_url)
    for warning in startup_warnings(settings, environment):
        log.warning("questionable setting", extra={"problem": warning})
    connection = default(where.kubeconfig, where.context, environ=environment)
    own = where.namespaces or Namespaces.of(settings.pod_namespace or connection.namespace)
    metrics = Metrics()
    from kubekit.client.http_transport import HttpTransport  # noqa: PLC0415 - slow import that a laptop does not need

    transport = ObservedTransport(HttpTransport(connection, user_agent=COMPONENT), metrics.requested)
    try:
        manager = engine(
            transport,
            settings,
            own=own,
            explicit=where.namespaces is not None,
            data_dir=where.data_dir or tails_directory(history),
            metrics=metrics,
            history=history,
        )
        on_stop_signal(manager.stop)
        async with health(settings, manager, metrics), collecting_when_idle():
            print(f"controllers run on {connection.server}, namespaces: {own}", flush=True)  # noqa: T201
            await manager.run()
    finally:
        await transport.close()


def health(
    settings: ControllerSettings, manager: Manager, metrics: Metrics
) -> AbstractAsyncContextManager[None]:
    """Serve the health endpoints of the controllers if the settings enable them."""
    if not settings.health_address:
        return nullcontext()
    from jangar.processes.health import health_server  # noqa: PLC0415 - slow import that is often not needed

    return health_server(
        settings.health_address,
        alive=manager.alive,
        ready=manager.ready,
        metrics=metrics if settings.metrics_enabled else None,
        metrics_path=settings.metrics_path,
    )


def engine(  # noqa: PLR0913 - what differs between a laptop and a cluster
    transport: Transport,
    settings: ControllerSettings,
    *,
    own: Namespaces,
    explicit: bool = False,
    runner: tuple[str, ...] = RUNNER,
    data_dir: Path | None = None,
    metrics: Metrics | None = None,
    urgent_work: UrgentWorkGate | None = None,
    history: DatabaseAddress | None = None,
    clock: SteadyClock | None = None,
) -> Manager:
    """A manager with the controllers and their services. `own` are the namespaces to watch if the settings name none;
    if `explicit`, they override the settings. `runner` is the command that the container of an agent starts.
    """
    urgent_work = urgent_work or UrgentWorkGate()
    clock = clock or SteadyClock()
    client = _client(transport)
    recorder = EventRecorder(
        client,
        component=COMPONENT,
        now=clock.now,
        instance=socket.gethostname(),
        limits=EVENT_LIMITS,
        urgent_work=urgent_work,
    )
    manager = Manager()
    manager.add_service("events", recorder.run)
    manager.add_service("clock", clock.run)
    clock.on_set.append(manager.clock_was_set)
    shared: ShardCoordinator | None = None
    fenced_client = client
    if settings.leader_election_enabled:
        shared = shard_coordinator(
            client,
            settings,
            default_namespace=(own.names or ("default",))[0],
            now=clock.now,
            is_ready=lambda: manager.stage is Stage.RUNNING,
        )
        fenced_client = _client(FencedTransport(transport, shared.shards.holds))

    def may_act(key: Key) -> bool:
        return shared is None or shared.shards.accepts(key)

    def scope(enabled: bool, configured: Scope) -> Namespaces:
        if not enabled:
            return Namespaces.of()
        return own if explicit or configured.names == () else Namespaces(configured.names)

    controllers = Engine(
        fenced_client,
        _engine_settings(
            settings,
            orchestrations=scope(settings.orchestration_enabled, settings.orchestration_namespaces),
            supporting=scope(settings.supporting_enabled, settings.supporting_namespaces),
            agents=scope(settings.agents_enabled, settings.agents_namespaces),
            runner=runner,
            data_dir=data_dir,
            history_enabled=history is not None,
        ),
        compile_condition=compile_when,
        compile_loop=compile_loop,
        recorder=recorder,
        now=clock.now,
        may_act=may_act,
        urgent_work=urgent_work,
        observers=_observers(metrics) if metrics else NO_OBSERVERS,
        open_history=opener(history) if history else None,
    )
    controllers.join(manager)
    if shared is not None:
        shared.attach(controllers)
        manager.add_service("shards", shared.shards.run)
    watchdog = Watchdog(on_lag=metrics.loop_lag if metrics else None)
    manager.use_watchdog(watchdog)
    if metrics is not None:
        _measure(metrics, manager, shared, recorder)
        if controllers.history is not None:
            _measure_history(metrics, controllers.history)
    return manager


def _observers(metrics: Metrics) -> Observers:
    return Observers(
        job_missing=metrics.job_missing,
        expired=metrics.expired,
        step_ended=metrics.step_ended,
        run_ended=metrics.run_ended,
        cancel_accepted=metrics.cancel_accepted,
    )


def _client(transport: Transport) -> Client:
    return Client(transport, manager=COMPONENT, request_timeout=REQUEST_TIMEOUT.total_seconds())


def _measure(
    metrics: Metrics, manager: Manager, shared: ShardCoordinator | None, recorder: EventRecorder
) -> None:
    for controller in manager.controllers:
        _measure_controller(metrics, controller)
    for kind, informer in manager.informers.items():
        _measure_informer(metrics, kind, informer)
    if shared is not None:
        _measure_shards(metrics, shared.shards)
    metrics.watch("jangar_events_dropped", lambda: recorder.dropped)
    metrics.watch_all(
        "jangar_quarantined_objects",
        lambda: {controller.name: len(controller.quarantine) for controller in manager.controllers},
    )


def _measure_controller(metrics: Metrics, controller: Controller) -> None:
    queue, name = controller.queue, controller.name
    controller.on_pass = metrics.reconciled
    queue.on_wait = partial(metrics.waited, name)
    metrics.watch("jangar_workqueue_depth", lambda: len(queue), name)
    metrics.watch("jangar_workqueue_delayed", lambda: queue.delayed, name)
    metrics.watch("jangar_workqueue_oldest_age_seconds", queue.oldest_age, name)


def _measure_informer(metrics: Metrics, kind: str, informer: Informer) -> None:
    metrics.watch("jangar_informer_objects", lambda: len(informer.cache), kind)
    metrics.watch("jangar_informer_age_seconds", informer.age, kind)
    metrics.watch("jangar_informer_lists", lambda: informer.counts.lists, kind)
    metrics.watch("jangar_informer_watches", lambda: informer.counts.watches, kind)


def _measure_shards(metrics: Metrics, shards: ShardSet) -> None:
    turnover = shards.turnover
    metrics.watch("jangar_lease_held", lambda: bool(shards.held_shards()))
    metrics.watch("jangar_shards", lambda: shards.shards)
    metrics.watch("jangar_shards_held", lambda: len(shards.held_shards()))
    metrics.watch("jangar_shards_taken", lambda: turnover.taken)
    metrics.watch("jangar_shards_taken_over", lambda: turnover.taken_over)
    metrics.watch("jangar_shards_handed_over", lambda: turnover.handed_over)
    metrics.watch("jangar_shards_lost", lambda: turnover.lost)


def _measure_history(metrics: Metrics, keeper: HistoryKeeper) -> None:
    metrics.watch("jangar_history_pending_rows", lambda: keeper.pending_count)
    metrics.watch("jangar_history_oldest_age_seconds", keeper.oldest_age)
    metrics.watch("jangar_history_rows_stored", lambda: keeper.counts.stored)
    metrics.watch("jangar_history_failures", lambda: keeper.counts.failures)
    metrics.watch_all("jangar_history_deleted_rows", lambda: keeper.counts.deleted)


def _admission_settings(
    policy: AdmissionPolicy, agents: Namespaces, supporting: Namespaces
) -> AdmissionSettings | None:
    """Settings of the admission queue; ToolRuns join it if the limits count them. None if it watches no namespace."""
    namespaces = agents.union(supporting) if policy.counts_tool_runs else agents
    return AdmissionSettings(namespaces=namespaces, policy=policy) if namespaces.names != () else None


def _engine_settings(
    settings: ControllerSettings,
    *,
    orchestrations: Namespaces,
    supporting: Namespaces,
    agents: Namespaces,
    runner: tuple[str, ...],
    data_dir: Path | None,
    history_enabled: bool,
) -> EngineSettings:
    policy = admission_policy(settings)
    return EngineSettings(
        orchestrations=orchestrations,
        supporting=supporting,
        agents=agents,
        agent_defaults=_agent_defaults(settings, runner),
        admission=_admission_settings(policy, agents, supporting),
        policy=policy,
        run_limits=Limits(
            cancel_enabled=settings.cancel_enabled,
            cancel_timeout=settings.cancel_timeout,
            request_timeout=REQUEST_TIMEOUT,
        ),
        work_limits=WorkLimits(
            cancel_enabled=settings.cancel_enabled,
            cancel_timeout=settings.cancel_timeout,
            request_timeout=REQUEST_TIMEOUT,
            lease_duration=settings.lease_duration,
            job_ttl=settings.job_ttl,
            retention=settings.agentrun_retention,
            orchestration_retention=settings.orchestration_retention,
            history_enabled=history_enabled,
        ),
        keeping=Keeping(
            job_ttl=settings.job_ttl,
            run_retention=settings.orchestration_retention,
            agentrun_retention=settings.agentrun_retention,
            history_enabled=history_enabled,
            lease_duration=settings.lease_duration,
            request_timeout=REQUEST_TIMEOUT,
        ),
        data_dir=data_dir,
        log_retention=settings.log_retention,
        history_retention=settings.history_retention,
        service_account=settings.runner_service_account or None,
        security_context=settings.runner_pod_security_context or None,
        share_processes=settings.share_processes,
    )


def _agent_defaults(settings: ControllerSettings, runner: tuple[str, ...]) -> AgentDefaults:
    return AgentDefaults(
        image=settings.workload_image,
        runner=runner,
        resources=settings.runner_resources,
        pod=PodSettings(
            node_selector=settings.runner_node_selector,
            tolerations=settings.runner_tolerations,
            topology_spread=settings.runner_topology_spread,
            affinity=settings.runner_affinity,
            image_pull_secrets=[
                str(secret.get("name") if isinstance(secret, Mapping) else secret)
                for secret in settings.runner_image_pull_secrets
            ],
            priority_class=settings.runner_priority_class or None,
            scheduler=settings.runner_scheduler_name or None,
        ),
        log_retention_seconds=settings.log_retention.seconds,
    )
