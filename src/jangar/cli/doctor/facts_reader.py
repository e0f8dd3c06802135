"""Reads the facts for the doctor from an API. Lists that may not be read are recorded; the rest is read anyway."""

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import orjson

from jangar import __version__
from jangar.cli.doctor.checks import Facts, Objects
from jangar.controllers.resources import MANAGED_BY, resource_of
from jangar.crdgen.prepared import Prepared
from jangar.kinds.registry import RUN_KINDS
from jangar.processes.data_directory import STATE_PATH
from jangar.processes.laptop_kinds import DEFINITIONS
from jangar.settings.controllers import controller_settings
from kubekit.client.builtin import JOBS, LEASES, NODES, PODS
from kubekit.client.errors import ApiError, Forbidden, NotFound, NotSent

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from jangar.processes.data_directory import Instance
    from kubekit.client.resource import Resource

OURS: Final = ",".join(f"{key}={value}" for key, value in MANAGED_BY.items())
TIMEOUT: Final = 10.0
OK: Final = 200


async def read_facts(session: "Session", laptop: "Instance | None") -> Facts:
    """Read everything that the checks need. Raises NotSent if the API cannot be reached."""
    reading, settings = _Reading(session), controller_settings(os.environ)
    read = {
        "definitions": await reading.all("CRDs", DEFINITIONS),
        "leases": await reading.all("leases", LEASES, fields=f"metadata.name={settings.lease_name}"),
        "nodes": await reading.all("nodes", NODES),
        "jobs": await reading.all("jobs", JOBS, labels=OURS),
        "pods": await reading.all("pods", PODS, labels=OURS),
    }
    runs = {run.name: await reading.all(run.plural_noun, resource_of(run.kind)) for run in RUN_KINDS.values()}
    return Facts(
        now=datetime.now(UTC),
        server=session.server,
        cli_version=__version__,
        is_laptop=laptop is not None,
        laptop_version=laptop.version if laptop else "",
        parts=await _parts(session) if laptop else {},
        wanted=Prepared.read().definitions(),
        lease_name=settings.lease_name,
        cancel_bound=settings.cancel_timeout,
        unread=reading.unread,
        runs=runs,
        **read,
    )


class _Reading:
    """Lists objects of all namespaces or, if that is forbidden, of the session's namespace."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self.unread: dict[str, str] = {}

    async def all(
        self, name: str, resource: "Resource", *, labels: str = "", fields: str = ""
    ) -> Objects | None:
        for namespace in [None, self._session.namespace] if resource.namespaced else [None]:
            try:
                return await self._session.client.list(resource, namespace, labels=labels, fields=fields)
            except NotFound:
                # The kind is not installed, which another check reports.
                return ()
            except Forbidden as error:
                self.unread[name] = error.message
            except NotSent:
                raise
            except ApiError as error:
                self.unread[name] = error.message
                return None
        return None


async def _parts(session: "Session") -> dict[str, list[str]]:
    response = await session.transport.request("GET", STATE_PATH, timeout=TIMEOUT)
    if response.status != OK:
        return {"api": ["the state endpoint failed"]}
    parts: dict[str, list[str]] = orjson.loads(response.body)["parts"]
    return parts
