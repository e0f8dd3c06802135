"""The process `jangar controllers`: the engine on any Kubernetes API, one of several holding the lease."""

import asyncio
import logging
import os
import signal
import socket
import uuid
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from jangar.controllers.engine import Engine, EngineSettings
from jangar.controllers.orchestrationrun.retention import Keeping
from jangar.domain.orchestration.observation import Limits
from jangar.domain.work.observation import WorkLimits
from jangar.kube.client import Client
from jangar.kube.connection import default
from jangar.kube.controller import Controller
from jangar.kube.event_recorder import EventLimits, EventRecorder
from jangar.kube.informer import Informer
from jangar.kube.lease import Elector, LeaseTiming
from jangar.kube.manager import Manager
from jangar.kube.namespaces import Namespaces
from jangar.kube.observed_transport import ObservedTransport
from jangar.kube.reconcile import Key
from jangar.kube.transport import Transport
from jangar.lint.conditions import compile_when
from jangar.settings.controllers import ControllerSettings, controller_settings, remarks
from jangar.settings.forms import Scope
from jangar.telemetry.metrics import InformerReadings, Metrics, QueueReadings

log = logging.getLogger("jangar.controllers")

COMPONENT = "jangar-controllers"
REQUEST_TIMEOUT = timedelta(seconds=10)
EVENT_LIMITS = EventLimits(burst=200, refill_seconds=10.0, patience=0.1)
"""A run tells of each of its steps; those of a big one are combined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Which API, and which part of it."""

    kubeconfig: Path | None = None
    context: str = ""
    namespaces: Namespaces | None = None
    """Given on the command line; else the environment's, else the kubeconfig's own."""
    data_dir: Path | None = None


async def run_controllers(where: Where, environment: Mapping[str, str] = os.environ) -> None:
    """Work until a signal asks to stop; what runs goes on without us."""
    settings = controller_settings(environment)
    for remark in remarks(settings, environment):
        log.warning(remark)
    connection = default(where.kubeconfig, where.context, environ=environment)
    own = where.namespaces or Namespaces.of(settings.pod_namespace or connection.namespace)
    metrics = Metrics()
    from jangar.kube.http_transport import HttpTransport  # noqa: PLC0415 - heavy, and a laptop has no need of it

    transport = ObservedTransport(HttpTransport(connection, user_agent=COMPONENT), metrics.requested)
    try:
        manager = engine(
            transport,
            settings,
            own=own,
            explicit=where.namespaces is not None,
            data_dir=where.data_dir,
            metrics=metrics,
        )
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, manager.stop)
        async with health(settings, manager, metrics):
            print(f"controllers run on {connection.server}, namespaces: {own}", flush=True)  # noqa: T201
            await manager.run()
    finally:
        await transport.close()


def health(
    settings: ControllerSettings, manager: Manager, metrics: Metrics
) -> AbstractAsyncContextManager[None]:
    """The small server that tells how the controllers are, where the settings ask for one."""
    if not settings.health_address:
        return nullcontext()
    from jangar.processes.health import health_server  # noqa: PLC0415 - heavy, and seldom asked for

    return health_server(
        settings.health_address,
        alive=manager.alive,
        ready=manager.ready,
        metrics=metrics if settings.metrics_enabled else None,
        metrics_path=settings.metrics_path,
    )


def engine(
    transport: Transport,
    settings: ControllerSettings,
    *,
    own: Namespaces,
    explicit: bool = False,
    data_dir: Path | None = None,
    metrics: Metrics | None = None,
) -> Manager:
    """A manager that runs everything once it is run. `own` are the namespaces where the settings name none;
    `explicit` ones win over the settings.
    """
    client = Client(transport, manager=COMPONENT, request_timeout=REQUEST_TIMEOUT.total_seconds())
    recorder = EventRecorder(
        client, component=COMPONENT, now=_now, instance=socket.gethostname(), limits=EVENT_LIMITS
    )
    manager = Manager()
    manager.add_service("events", recorder.run)
    elector = _elector(client, settings, own) if settings.leader_election_enabled else None

    def may_act(_: Key) -> bool:
        return elector is None or elector.holds()

    def scope(enabled: bool, told: Scope) -> Namespaces:
        if not enabled:
            return Namespaces.of()
        return own if explicit or told.names == () else Namespaces(told.names)

    made = Engine(
        client,
        _engine_settings(
            settings,
            orchestrations=scope(settings.orchestration_enabled, settings.orchestration_namespaces),
            supporting=scope(settings.supporting_enabled, settings.supporting_namespaces),
            data_dir=data_dir,
        ),
        compile_condition=compile_when,
        recorder=recorder,
        now=_now,
        may_act=may_act,
        on_job_missing=metrics.job_missing if metrics else lambda: None,
    )
    made.join(manager)
    if elector is not None:
        manager.add_service("lease", elector.run)
        elector.subscribe(lambda _, held: made.authority_gained() if held else made.authority_lost())
    if metrics is not None:
        _measure(metrics, manager, elector, recorder)
    return manager


def _measure(metrics: Metrics, manager: Manager, elector: Elector | None, recorder: EventRecorder) -> None:
    for controller in manager.controllers:
        controller.on_pass = metrics.reconciled
        controller.queue.on_wait = partial(metrics.waited, controller.name)
        metrics.watch_queue(controller.name, _queue_readings(controller))
    for name, informer in manager.informers.items():
        metrics.watch_informer(name, _informer_readings(informer))
    if elector is not None:
        metrics.watch_lease(elector.holds)
    metrics.watch_events(lambda: recorder.dropped)


def _queue_readings(controller: Controller) -> QueueReadings:
    queue = controller.queue
    return QueueReadings(depth=lambda: len(queue), delayed=lambda: queue.delayed, oldest_age=queue.oldest_age)


def _informer_readings(informer: Informer) -> InformerReadings:
    return InformerReadings(
        objects=lambda: len(informer.cache),
        age=informer.age,
        lists=lambda: informer.counts.lists,
        watches=lambda: informer.counts.watches,
    )


def _engine_settings(
    settings: ControllerSettings,
    *,
    orchestrations: Namespaces,
    supporting: Namespaces,
    data_dir: Path | None,
) -> EngineSettings:
    return EngineSettings(
        orchestrations=orchestrations,
        supporting=supporting,
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
        ),
        keeping=Keeping(
            job_ttl=settings.job_ttl,
            run_retention=settings.orchestration_retention,
            agentrun_retention=settings.agentrun_retention,
            lease_duration=settings.lease_duration,
            request_timeout=REQUEST_TIMEOUT,
        ),
        data_dir=data_dir,
        log_retention=settings.log_retention,
        service_account=settings.runner_service_account or None,
    )


def _elector(client: Client, settings: ControllerSettings, own: Namespaces) -> Elector:
    return Elector(
        client,
        name=settings.lease_name,
        namespace=settings.lease_namespace or settings.pod_namespace or (own.names or ("default",))[0],
        identity=f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}",
        now=_now,
        timing=LeaseTiming(
            duration=int(settings.lease_duration.total_seconds()),
            renew_deadline=settings.renew_deadline.total_seconds(),
            retry_period=settings.retry_period.total_seconds(),
        ),
    )


def _now() -> datetime:
    return datetime.now(UTC)
