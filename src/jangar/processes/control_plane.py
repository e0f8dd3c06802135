"""The process `jangar control-plane`: the HTTP API and web page, which `jangar up` serves as well."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from jangar import __version__
from jangar.operations.audit import AuditTrail
from jangar.operations.cluster_status import ClusterStatus
from jangar.operations.idempotency import KeyStore
from jangar.operations.live_runs import LiveRuns
from jangar.operations.past_runs import PastRuns
from jangar.operations.run_reading import RunSource
from jangar.processes.history import address_of, opener
from jangar.processes.lifecycle import on_stop_signal
from jangar.server.http.app import application
from jangar.server.http.event_stream import encode_change
from jangar.server.http.guards import AllowedHosts
from jangar.server.http.identity import (
    ANY_USER,
    MANAGER,
    AllRights,
    Authenticator,
    BearerPrincipals,
    Principal,
    ProxiedPrincipals,
    Sessions,
)
from jangar.server.http.service import HistoryKept, Parts, Service
from jangar.settings.control_plane import ControlPlaneSettings, control_plane_settings
from jangar.store.urls import DatabaseAddress
from jangar.telemetry.metrics import Metrics
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client
from kubekit.client.connection import Connection, Impersonated, default
from kubekit.client.transport import ObservedTransport, Transport
from kubekit.serving.http_server import http_server
from kubekit.serving.listening import listen_on_option

log = logging.getLogger("jangar.control_plane")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAccess:
    """Transports to the Kubernetes API: with the process's own credentials and with those of a caller."""

    own: Transport
    caller: Callable[[str], Transport]
    """Returns the transport for a bearer token."""
    proxied: ProxiedPrincipals | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontendSettings:
    """What the HTTP frontend needs to know about its process."""

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
    """Command-line options; None means the setting applies."""

    host: str | None = None
    port: int | None = None
    kubeconfig: Path | None = None
    context: str = ""
    namespaces: Namespaces | None = None
    origins: frozenset[str] | None = None


async def run_control_plane(options: ControlPlane, environment: Mapping[str, str] = os.environ) -> None:
    """Serve until SIGINT or SIGTERM. Callers authenticate with their own tokens; there are no sessions."""
    from kubekit.client.http_transport import HttpTransport  # noqa: PLC0415 - slow import that a laptop does not need

    settings = control_plane_settings(environment)
    history = address_of(settings.database_url)
    connection = default(options.kubeconfig, options.context, environ=environment)
    metrics = Metrics()
    own = ObservedTransport(HttpTransport(connection, user_agent=MANAGER), metrics.requested)
    access = ApiAccess(
        own=own,
        caller=lambda token: HttpTransport(_as(connection, token), user_agent=MANAGER),
        proxied=_proxied(
            settings,
            lambda user: HttpTransport(replace(connection, impersonate=user), user_agent=MANAGER),
        ),
    )
    names = settings.namespaces.names
    namespaces = options.namespaces or (
        Namespaces(names) if names != () else Namespaces.of(connection.namespace)
    )
    frontend = FrontendSettings(
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
    host = settings.host if options.host is None else options.host
    port = settings.port if options.port is None else options.port
    listener = listen_on_option(host, port, "--port")
    stop = asyncio.Event()
    on_stop_signal(stop.set)
    hosts = frozenset(allowed_host.lower() for allowed_host in settings.allowed_hosts) or None
    origins = frozenset(settings.allowed_origins) if options.origins is None else options.origins
    try:
        async with http_frontend(
            access, frontend, listener, AllowedHosts(hosts=hosts, origins=origins), sessions=None
        ):
            url = f"http://{host}:{listener.getsockname()[1]}"
            state = "history enabled" if history is not None else "history disabled (no database)"
            print(f"control plane at {url}, cluster {connection.server}, {state}", flush=True)  # noqa: T201
            await stop.wait()
    finally:
        await own.close()


def _proxied(
    settings: ControlPlaneSettings, transport: Callable[[Impersonated], Transport]
) -> ProxiedPrincipals | None:
    if not settings.proxy_user_header:
        return None
    return ProxiedPrincipals(
        transport,
        user=settings.proxy_user_header.lower(),
        groups=settings.proxy_groups_header.lower(),
        allowed=frozenset(settings.proxy_groups) or None,
        users=None if ANY_USER in settings.proxy_users else frozenset(settings.proxy_users),
        secret=settings.proxy_secret,
    )


def _as(connection: Connection, token: str) -> Connection:
    """The same server with the caller's token and none of our credentials."""
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
async def http_frontend(
    access: ApiAccess,
    frontend: FrontendSettings,
    listener: socket.socket,
    allowed_hosts: AllowedHosts,
    *,
    sessions: Sessions | None,
) -> AsyncIterator[Service]:
    """Serve the HTTP API and web page while the block runs. Session users act with the permissions of `own`."""
    client = Client(access.own, manager=MANAGER)
    owner = (
        Principal(name="owner", client=client, transport=access.own, rights=AllRights()) if sessions else None
    )
    live = LiveRuns(client, frontend.namespaces, encode_change)
    authenticator = Authenticator(
        BearerPrincipals(access.caller, client), sessions=sessions, owner=owner, proxied=access.proxied
    )
    past = PastRuns(opener(frontend.history)) if frontend.history is not None else None
    trail = AuditTrail(past.history if past else None, now=_now, keep=frontend.audit_retention)
    service = Service(
        version=__version__,
        live=live,
        runs=RunSource(client, live, past),
        authenticator=authenticator,
        trail=trail,
        cluster=ClusterStatus(client, access.own, frontend.namespaces.names),
        now=_now,
        parts=frontend.parts,
        namespace=frontend.namespace,
        namespaces=frontend.namespaces.names,
        past=past,
        tails=frontend.tails,
        metrics=frontend.metrics,
        keys=KeyStore(keys=past.history, past=past.created_with, now=_now) if past else None,
        logs_access=frontend.logs_access,
        command_prefix=frontend.command_prefix,
        history_kept=frontend.history_kept,
    )
    server = http_server(application(service, allowed_hosts))
    background = [
        asyncio.create_task(run, name=name) for name, run in (("runs", live.run()), ("audit", trail.run()))
    ]
    serving = asyncio.create_task(server.serve(sockets=[listener]), name="http-frontend")
    try:
        yield service
    finally:
        server.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        await authenticator.close()
        if past is not None:
            await past.close()


def _now() -> datetime:
    return datetime.now(UTC)
