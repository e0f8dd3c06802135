"""The steps of a run as documents: inline in its status, or on pages that it owns (DAG-14).

Remembers what was written, so that a change of one step of ten thousand writes one page.
"""

import base64
import gzip
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from jangar.controllers.orchestrationrun.memory import RunMemory
from jangar.controllers.resources import MANAGED_BY, RUN_UID, owner_reference
from jangar.domain.orchestration.pages import join_pages, page_name
from jangar.domain.orchestration.state import StepState
from jangar.domain.orchestration.status_document import step_document
from jangar.kube.builtin import CONFIG_MAPS
from jangar.kube.cache import Cached
from jangar.kube.client import Client, PatchKind
from jangar.kube.errors import AlreadyExists
from jangar.kube.resource import Resource

KEY: Final = "steps.json.gz"
ROLE: Final = "jangar.proompteng.ai/role"
PAGE_ROLE: Final = "steps"
PAGE_SIZE: Final = 100


async def read_steps(
    client: Client, run: Cached, status: Mapping[str, Any]
) -> list[Mapping[str, Any]] | None:
    """Every step of a big run from its pages; None for a run whose status has them all."""
    if not status.get("stepPages"):
        return None
    found = await client.list(CONFIG_MAPS, run.namespace, labels=f"{RUN_UID}={run.uid},{ROLE}={PAGE_ROLE}")
    return join_pages((), [_decoded(each) for each in found])


def _decoded(page: Mapping[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = orjson.loads(gzip.decompress(base64.b64decode(page["binaryData"][KEY])))
    return read


class StepPages:
    """Writes the pages of big runs."""

    def __init__(self, client: Client, resource: Resource) -> None:
        self._client = client
        self._resource = resource

    async def write(self, run: Cached, memory: RunMemory, steps: Sequence[StepState]) -> dict[str, Any]:
        """Write the pages that changed; the answer is `status.stepPages`."""
        names = []
        for number, start in enumerate(range(0, len(steps), PAGE_SIZE)):
            states = tuple(steps[start : start + PAGE_SIZE])
            names.append(page_name(run.name, run.uid, number))
            if memory.written.get(number) != states:
                await self._write(run, memory, number, states)
                memory.written[number] = states
        return {"names": names, "pageSize": PAGE_SIZE, "total": len(steps)}

    async def _write(
        self, run: Cached, memory: RunMemory, number: int, states: tuple[StepState, ...]
    ) -> None:
        page = {"page": number, "steps": [step_document(each) for each in states]}
        data = base64.b64encode(gzip.compress(orjson.dumps(page), compresslevel=1, mtime=0)).decode()
        known = memory.pages.get(number)
        name = page_name(run.name, run.uid, number)
        if known is None:
            obj = await self._create(run, name, data)
        else:
            obj = await self._replace(run, name, known, data)
        memory.pages[number] = (obj["metadata"]["uid"], obj["metadata"]["resourceVersion"])

    async def _create(self, run: Cached, name: str, data: str) -> Mapping[str, Any]:
        manifest = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "namespace": run.namespace,
                "labels": {**MANAGED_BY, RUN_UID: run.uid, ROLE: PAGE_ROLE},
                "ownerReferences": [owner_reference(self._resource, run)],
            },
            "binaryData": {KEY: data},
        }
        try:
            return await self._client.create(CONFIG_MAPS, manifest)
        except AlreadyExists:
            there = (await self._client.get(CONFIG_MAPS, name, run.namespace))["metadata"]
            return await self._replace(run, name, (there["uid"], there["resourceVersion"]), data)

    async def _replace(self, run: Cached, name: str, known: tuple[str, str], data: str) -> Mapping[str, Any]:
        uid, version = known
        body = [
            {"op": "replace", "path": "/metadata/uid", "value": uid},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/binaryData", "value": {KEY: data}},
        ]
        return await self._client.patch(CONFIG_MAPS, name, run.namespace, body, kind=PatchKind.JSON)
