"""The process `jangar control-plane`, and the same face within `jangar up`: HTTP for programs and the web page."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from jangar import __version__
from jangar.processes.history import address_of, opener
from jangar.server.audit import AuditTrail
from jangar.server.cluster_status import ClusterStatus
from jangar.server.http.app import application
from jangar.server.http.event_stream import written
from jangar.server.http.guards import AllowedHosts
from jangar.server.http.identity import MANAGER, AllRights, BearerCallers, Caller, Doorkeeper, Sessions
from jangar.server.http.proxied import ANY_USER, ProxiedCallers
from jangar.server.http.service import HistoryKept, Parts, Service
from jangar.server.idempotency import KeyRing
from jangar.server.live_runs import LiveRuns
from jangar.server.past_runs import PastRuns
from jangar.server.run_reads import RunReads
from jangar.settings.control_plane import ControlPlaneSettings, control_plane_settings
from jangar.store.urls import DatabaseAddress
from jangar.telemetry.metrics import Metrics
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client
from kubekit.client.connection import Connection, Impersonated, default
from kubekit.client.observed_transport import ObservedTransport
from kubekit.client.transport import Transport
from kubekit.serving.http_server import http_server
from kubekit.serving.listening import listening_as_asked

log = logging.getLogger("jangar.control_plane")


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How the face reaches the Kubernetes API: as itself, and as whoever asks."""

    own: Transport
    caller: Callable[[str], Transport]
    """Given a bearer token."""
    proxied: ProxiedCallers | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the face is told about the process around it."""

    parts: Parts
    namespaces: Namespaces
    namespace: str = "default"
    metrics: Callable[[], bytes] = lambda: b""
    tails: Path | None = None
    history: DatabaseAddress | None = None
    audit_retention: timedelta | None = None
    logs_access: bool = False
    command_prefix: str = "jangar"
    history_kept: HistoryKept | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    """What the command line says; what it does not say, the settings do."""

    host: str | None = None
    port: int | None = None
    kubeconfig: Path | None = None
    context: str = ""
    namespaces: Namespaces | None = None
    origins: frozenset[str] | None = None


async def run_control_plane(asked: ControlPlane, environment: Mapping[str, str] = os.environ) -> None:
    """Serve until a signal asks to stop. On a cluster callers are known by their own tokens alone."""
    from kubekit.client.http_transport import HttpTransport  # noqa: PLC0415 - heavy, and a laptop has no need of it

    settings = control_plane_settings(environment)
    history = address_of(settings.database_url)
    connection = default(asked.kubeconfig, asked.context, environ=environment)
    metrics = Metrics()
    own = ObservedTransport(HttpTransport(connection, user_agent=MANAGER), metrics.requested)
    way = Way(
        own=own,
        caller=lambda token: HttpTransport(_as(connection, token), user_agent=MANAGER),
        proxied=_proxied(
            settings,
            lambda someone: HttpTransport(replace(connection, impersonate=someone), user_agent=MANAGER),
        ),
    )
    told = settings.namespaces.names
    namespaces = asked.namespaces or (Namespaces(told) if told != () else Namespaces.of(connection.namespace))
    facts = Facts(
        parts=dict,
        namespaces=namespaces,
        namespace=connection.namespace
        if connection.namespace in namespaces
        else (namespaces.names or ("",))[0],
        metrics=metrics.text,
        history=history,
        audit_retention=settings.audit_retention.duration,
        logs_access=settings.access_log,
    )
    host = settings.host if asked.host is None else asked.host
    port = settings.port if asked.port is None else asked.port
    listener = listening_as_asked(host, port, "--port")
    stop = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stop.set)
    hosts = frozenset(each.lower() for each in settings.allowed_hosts) or None
    origins = frozenset(settings.allowed_origins) if asked.origins is None else asked.origins
    try:
        async with face(way, facts, listener, AllowedHosts(hosts=hosts, origins=origins), sessions=None):
            shown = f"http://{host}:{listener.getsockname()[1]}"
            kept = "history is kept" if history is not None else "no database: no history"
            print(f"control plane at {shown}, runs of {connection.server}, {kept}", flush=True)  # noqa: T201
            await stop.wait()
    finally:
        await own.close()


def _proxied(
    settings: ControlPlaneSettings, transport: Callable[[Impersonated], Transport]
) -> ProxiedCallers | None:
    if not settings.proxy_user_header:
        return None
    return ProxiedCallers(
        transport,
        user=settings.proxy_user_header.lower(),
        groups=settings.proxy_groups_header.lower(),
        allowed=frozenset(settings.proxy_groups) or None,
        users=None if ANY_USER in settings.proxy_users else frozenset(settings.proxy_users),
        secret=settings.proxy_secret,
    )


def _as(connection: Connection, token: str) -> Connection:
    """The same server, entered with a caller's token and nothing of ours."""
    return replace(
        connection,
        token=token,
        token_file=None,
        certificate=None,
        key=None,
        user_name="",
        password="",
        fresh_token=None,
    )


@asynccontextmanager
async def face(
    way: Way, facts: Facts, listener: socket.socket, neighbours: AllowedHosts, *, sessions: Sessions | None
) -> AsyncIterator[Service]:
    """The face, from listening to closed. With sessions, whoever opens one acts with the rights of `own`."""
    client = Client(way.own, manager=MANAGER)
    owner = Caller(name="owner", client=client, transport=way.own, rights=AllRights()) if sessions else None
    live = LiveRuns(client, facts.namespaces, written)
    doorkeeper = Doorkeeper(
        BearerCallers(way.caller, client), sessions=sessions, owner=owner, proxied=way.proxied
    )
    past = PastRuns(opener(facts.history)) if facts.history is not None else None
    trail = AuditTrail(past.history if past else None, now=_now, keep=facts.audit_retention)
    service = Service(
        version=__version__,
        live=live,
        reads=RunReads(client, live, past),
        doorkeeper=doorkeeper,
        trail=trail,
        around=ClusterStatus(client, way.own, facts.namespaces.names),
        now=_now,
        parts=facts.parts,
        namespace=facts.namespace,
        namespaces=facts.namespaces.names,
        past=past,
        tails=facts.tails,
        metrics=facts.metrics,
        ring=KeyRing(keys=past.history, past=past.made_with, now=_now) if past else None,
        logs_access=facts.logs_access,
        command_prefix=facts.command_prefix,
        history_kept=facts.history_kept,
    )
    server = http_server(application(service, neighbours))
    beside = [
        asyncio.create_task(each, name=name) for name, each in (("runs", live.run()), ("audit", trail.run()))
    ]
    answering = asyncio.create_task(server.serve(sockets=[listener]), name="face")
    try:
        yield service
    finally:
        server.should_exit = True
        await asyncio.gather(answering, return_exceptions=True)
        for each in beside:
            each.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await doorkeeper.close()
        if past is not None:
            await past.close()


def _now() -> datetime:
    return datetime.now(UTC)
