"""The process `jangar controllers`: the engine on any Kubernetes API, one of several holding the lease."""

import asyncio
import logging
import os
import signal
import socket
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from jangar.controllers.engine import Engine, EngineSettings
from jangar.controllers.orchestrationrun.retention import Keeping
from jangar.domain.orchestration.observation import Limits
from jangar.domain.work.observation import WorkLimits
from jangar.kube.client import Client
from jangar.kube.connection import default
from jangar.kube.event_recorder import EventRecorder
from jangar.kube.http_transport import HttpTransport
from jangar.kube.lease import Elector, LeaseTiming
from jangar.kube.manager import Manager
from jangar.kube.namespaces import Namespaces
from jangar.kube.reconcile import Key
from jangar.kube.transport import Transport
from jangar.lint.conditions import compile_when
from jangar.settings.controllers import ControllerSettings, controller_settings, remarks

log = logging.getLogger("jangar.controllers")

COMPONENT = "jangar-controllers"
REQUEST_TIMEOUT = timedelta(seconds=10)


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
    namespaces = where.namespaces or _namespaces(settings, connection.namespace)
    transport = HttpTransport(connection, user_agent=COMPONENT)
    try:
        async with engine(
            transport, settings, namespaces=namespaces, data_dir=where.data_dir, home=connection.namespace
        ) as manager:
            loop = asyncio.get_running_loop()
            for each in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(each, manager.stop)
            print(f"controllers run on {connection.server}, namespaces: {namespaces}", flush=True)  # noqa: T201
            await manager.run()
    finally:
        await transport.close()


@asynccontextmanager
async def engine(
    transport: Transport,
    settings: ControllerSettings,
    *,
    namespaces: Namespaces,
    data_dir: Path | None = None,
    home: str = "default",
) -> AsyncIterator[Manager]:
    """A manager that runs everything; the caller runs it."""
    client = Client(transport, manager=COMPONENT, request_timeout=REQUEST_TIMEOUT.total_seconds())
    recorder = EventRecorder(client, component=COMPONENT, now=_now, instance=socket.gethostname())
    manager = Manager()
    manager.add_service("events", recorder.run)
    elector = _elector(client, settings, home) if settings.leader_election_enabled else None

    def may_act(_: Key) -> bool:
        return elector is None or elector.holds()

    made = Engine(
        client,
        _engine_settings(settings, namespaces, data_dir),
        compile_condition=compile_when,
        recorder=recorder,
        now=_now,
        may_act=may_act,
    )
    made.join(manager)
    if elector is not None:
        manager.add_service("lease", elector.run)
        elector.subscribe(lambda _, held: _on_lease(made, held=held))
    yield manager


def _on_lease(made: Engine, *, held: bool) -> None:
    for controller in made.controllers:
        if held:
            controller.enqueue_all()
        else:
            controller.abandon_lost()


def _engine_settings(
    settings: ControllerSettings, namespaces: Namespaces, data_dir: Path | None
) -> EngineSettings:
    return EngineSettings(
        namespaces=namespaces,
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
            retention=settings.orchestration_retention or settings.agentrun_retention,
        ),
        keeping=Keeping(
            job_ttl=settings.job_ttl,
            run_retention=settings.orchestration_retention,
            agentrun_retention=settings.agentrun_retention,
        ),
        data_dir=data_dir,
        service_account=settings.runner_service_account or None,
    )


def _elector(client: Client, settings: ControllerSettings, home: str) -> Elector:
    return Elector(
        client,
        name=settings.lease_name,
        namespace=settings.lease_namespace or settings.pod_namespace or home,
        identity=f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}",
        now=_now,
        timing=LeaseTiming(
            duration=int(settings.lease_duration.total_seconds()),
            renew_deadline=settings.renew_deadline.total_seconds(),
            retry_period=settings.retry_period.total_seconds(),
        ),
    )


def _namespaces(settings: ControllerSettings, fallback: str) -> Namespaces:
    told = settings.orchestration_namespaces
    return Namespaces(told.names) if told.names or told.names is None else Namespaces.of(fallback)


def _now() -> datetime:
    return datetime.now(UTC)
