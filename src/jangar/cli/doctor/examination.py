"""Reading what the doctor looks at. What may not be read is noted, and the rest is looked at all the same."""

import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import orjson

from jangar import __version__
from jangar.cli.doctor.facts import Facts, Objects
from jangar.controllers.resources import MANAGED_BY, resource_of
from jangar.crdgen.prepared import Prepared
from jangar.kinds.registry import RUN_KINDS
from jangar.processes.laptop_kinds import DEFINITIONS
from jangar.processes.laptop_state_route import STATE_PATH
from jangar.settings.controllers import controller_settings
from kubekit.client.builtin import JOBS, LEASES, NODES, PODS
from kubekit.client.errors import ApiError, Forbidden, NotFound, NotSent

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from jangar.processes.laptop_instance import Instance
    from kubekit.client.resource import Resource

OURS: Final = ",".join(f"{key}={value}" for key, value in MANAGED_BY.items())
TIMEOUT: Final = 10.0
OK: Final = 200


async def examine(session: "Session", laptop: "Instance | None") -> Facts:
    """Raises NotSent if the API cannot be reached at all."""
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
    """Lists of everything; where only one namespace may be read, of that."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self.unread: dict[str, str] = {}

    async def all(
        self, name: str, resource: "Resource", *, labels: str = "", fields: str = ""
    ) -> Objects | None:
        def listed(namespace: str | None) -> Callable[[], Awaitable[list[dict[str, Any]]]]:
            return lambda: self._session.client.list(resource, namespace, labels=labels, fields=fields)

        places = [None, self._session.namespace] if resource.namespaced else [None]
        for place in places:
            try:
                return await listed(place)()
            except NotFound:
                # The kind is not served: the check of kinds tells.
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
    answer = await session.transport.request("GET", STATE_PATH, timeout=TIMEOUT)
    if answer.status != OK:
        return {"api": ["the state endpoint failed"]}
    found: dict[str, list[str]] = orjson.loads(answer.body)["parts"]
    return found
