"""The process `jangar controllers`: runs the engine on any Kubernetes API, as one of several sharded replicas."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from jangar.controllers.admission.wiring import AdmissionSettings
from jangar.controllers.engine import Engine
from jangar.controllers.engine_settings import EngineSettings
from jangar.controllers.observers import NO_OBSERVERS, Observers
from jangar.controllers.orchestrationrun.retention import Keeping
from jangar.domain.agentrun.command import RUNNER, AgentDefaults
from jangar.domain.job_execution.command import PodSettings
from jangar.domain.job_execution.observation import WorkLimits
from jangar.domain.orchestration.planning.observation import Limits
from jangar.domain.policies.policy import AdmissionPolicy
from jangar.lint.conditions import compile_loop, compile_when
from jangar.processes.controller_shards import ShardCoordinator, shard_coordinator
from jangar.processes.cycle_collector import collecting_when_idle
from jangar.processes.history import address_of, opener, tails_directory
from jangar.settings.admission import admission_policy
from jangar.settings.controllers import ControllerSettings, controller_settings, startup_warnings
from jangar.settings.forms import Scope
from jangar.store.urls import DatabaseAddress
from jangar.telemetry.metrics import HistoryReadings, InformerReadings, Metrics, QueueReadings, ShardReadings
from kubekit.cache.informer import Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client
from kubekit.client.connection import default
from kubekit.client.observed_transport import ObservedTransport
from kubekit.client.transport import Transport
from kubekit.controller.controller import Controller
from kubekit.controller.fence import FencedTransport
from kubekit.controller.manager import Manager, Stage
from kubekit.controller.reconcile import Key
from kubekit.controller.urgent_work import UrgentWorkGate
from kubekit.controller.watchdog import Watchdog
from kubekit.events.event_recorder import EventRecorder
from kubekit.events.event_values import EventLimits
from kubekit.leases.shard_set import ShardSet
from kubekit.steady_clock import SteadyClock

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
        loop = asyncio.get_running_loop()
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(signal_number, manager.stop)
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
        shared.tell(controllers)
        manager.add_service("shards", shared.shards.run)
    watchdog = Watchdog(on_lag=metrics.loop_lag if metrics else None)
    manager.use_watchdog(watchdog)
    if metrics is not None:
        _measure(metrics, manager, shared, recorder)
        if (keeper := controllers.history) is not None:
            metrics.watch_history(
                HistoryReadings(
                    pending=lambda: keeper.pending_count,
                    oldest_age=keeper.oldest_age,
                    stored=lambda: keeper.counts.stored,
                    failures=lambda: keeper.counts.failures,
                    deleted=lambda: keeper.counts.deleted,
                )
            )
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
        controller.on_pass = metrics.reconciled
        controller.queue.on_wait = partial(metrics.waited, controller.name)
        metrics.watch_queue(controller.name, _queue_readings(controller))
    for name, informer in manager.informers.items():
        metrics.watch_informer(name, _informer_readings(informer))
    if shared is not None:
        shards = shared.shards
        metrics.watch_lease(lambda: bool(shards.held_shards()))
        metrics.watch_shards(_shard_readings(shards))
    metrics.watch_events(lambda: recorder.dropped)
    metrics.watch_quarantine(
        lambda: {controller.name: len(controller.quarantine) for controller in manager.controllers}
    )


def _queue_readings(controller: Controller) -> QueueReadings:
    queue = controller.queue
    return QueueReadings(depth=lambda: len(queue), delayed=lambda: queue.delayed, oldest_age=queue.oldest_age)


def _shard_readings(shards: ShardSet) -> ShardReadings:
    turnover = shards.turnover
    return ShardReadings(
        shards=lambda: shards.shards,
        held=lambda: len(shards.held_shards()),
        taken=lambda: turnover.taken,
        taken_over=lambda: turnover.taken_over,
        handed_over=lambda: turnover.handed_over,
        lost=lambda: turnover.lost,
    )


def _informer_readings(informer: Informer) -> InformerReadings:
    return InformerReadings(
        objects=lambda: len(informer.cache),
        age=informer.age,
        lists=lambda: informer.counts.lists,
        watches=lambda: informer.counts.watches,
    )


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
