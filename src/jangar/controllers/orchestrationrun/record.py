"""Reads a run's record from its status and pages, and writes it back (DAG-14).

Pages are written first, because the status names them. Only pages with changed steps are written.
"""

import base64
import gzip
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from jangar.controllers.orchestrationrun.memory import Page, RunMemory
from jangar.controllers.resources import MANAGED_BY, RUN_UID, is_controlled_by, owner_reference
from jangar.controllers.status_writer import StatusWriter
from jangar.domain.orchestration.state import RunRecord, StepState
from jangar.domain.orchestration.status_document import (
    MAX_INLINE,
    MAX_INLINE_BYTES,
    RUN_FIELDS,
    join_pages,
    page_name,
    run_document,
    run_record,
    shown_inline,
    step_document,
)
from kubekit.cache.informer import Informer
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client, PatchKind
from kubekit.client.builtin import CONFIG_MAPS
from kubekit.client.errors import AlreadyExists
from kubekit.client.resource import Resource

KNOWN: Final = RUN_FIELDS | {"snapshotRef", "stepPages", "retention"}


class RunRecords:
    """Reads and writes the records of runs."""

    def __init__(self, client: Client, informer: Informer) -> None:
        self._client = client
        self._informer = informer
        self._writer = StatusWriter(client)
        self._pages = StepPages(client, informer.resource)

    async def read(self, seen: Cached, status: Mapping[str, Any], memory: RunMemory) -> RunRecord:
        """The record of this version: from memory if the status is the last one written, else read."""
        if memory.record is not None and memory.status == status:
            return memory.record
        memory.forget_record()
        record = run_record(status, await read_steps(self._client, seen, status))
        memory.record, memory.status = record, status
        return record

    async def write(
        self, seen: Cached, memory: RunMemory, record: RunRecord, more: Mapping[str, Any]
    ) -> Cached:
        """The run with this record. Raises Conflict if the run has changed since it was planned.

        After any failure the next pass reads the record again: it is not known what was written.
        """
        steps = memory.step_documents(record.steps)
        document = run_document(record, run_name=seen.name, steps=steps) | dict(more)
        try:
            if memory.pages or len(steps) > MAX_INLINE or len(orjson.dumps(steps)) > MAX_INLINE_BYTES:
                document["stepPages"] = await self._pages.write(seen, memory, record.steps)
                document["stepStatuses"] = list(shown_inline(steps)[0])
            written = await self._writer.write(self._informer, seen, document, known=KNOWN)
        except BaseException:
            memory.forget_record()
            raise
        memory.record, memory.status = record, written.view.get("status") or {}
        return written


KEY: Final = "steps.json.gz"
ROLE: Final = "jangar.proompteng.ai/role"
PAGE_ROLE: Final = "steps"
PAGE_SIZE: Final = 100
MAX_NAMES: Final = 8
"""Names that are tried for a page: other objects may have some of them."""


async def read_steps(
    client: Client, run: Cached, status: Mapping[str, Any]
) -> list[Mapping[str, Any]] | None:
    """Every step of a large run from its pages; None for a run whose status has all of them."""
    recorded = status.get("stepPages")
    if not recorded:
        return None
    listed = await client.list(CONFIG_MAPS, run.namespace, labels=f"{RUN_UID}={run.uid},{ROLE}={PAGE_ROLE}")
    own = [_decoded(page) for page in listed if _is_recorded(page, run, recorded)]
    steps = join_pages(own)
    if len(steps) != recorded.get("total", len(steps)):
        raise MissingPage(f"pages of run {run.name} are gone or were replaced: see {recorded.get('names')}")
    return steps


class MissingPage(ValueError):
    """A page that a run's status names is gone, so the record is incomplete."""


def _is_recorded(page: Mapping[str, Any], run: Cached, recorded: Mapping[str, Any]) -> bool:
    """Whether the page is the recorded one. Its uid decides: any user who may create ConfigMaps can copy the rest."""
    meta = page["metadata"]
    known = recorded.get("uids")
    is_known = meta["uid"] in known if known else meta["name"] in (recorded.get("names") or ())
    return is_known and is_controlled_by(page, run.uid)


def _decoded(page: Mapping[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = orjson.loads(gzip.decompress(base64.b64decode(page["binaryData"][KEY])))
    return read


class StepPages:
    """Writes the pages of large runs."""

    def __init__(self, client: Client, resource: Resource) -> None:
        self._client = client
        self._resource = resource

    async def write(self, run: Cached, memory: RunMemory, steps: Sequence[StepState]) -> dict[str, Any]:
        """Write the changed pages; returns `status.stepPages`."""
        pages: list[Page] = []
        for number, start in enumerate(range(0, len(steps), PAGE_SIZE)):
            states = tuple(steps[start : start + PAGE_SIZE])
            if memory.written.get(number) != states:
                await self._write(run, memory, number, states)
                memory.written[number] = states
            pages.append(memory.pages[number])
        return {
            "names": [page.name for page in pages],
            "uids": [page.uid for page in pages],
            "pageSize": PAGE_SIZE,
            "total": len(steps),
        }

    async def _write(
        self, run: Cached, memory: RunMemory, number: int, states: tuple[StepState, ...]
    ) -> None:
        page = {"page": number, "steps": [step_document(state) for state in states]}
        data = base64.b64encode(gzip.compress(orjson.dumps(page), compresslevel=1, mtime=0)).decode()
        known = memory.pages.get(number)
        obj = await (self._replace(run, known, data) if known else self._create(run, number, data))
        memory.pages[number] = Page.of(obj)

    async def _create(self, run: Cached, number: int, data: str) -> Mapping[str, Any]:
        """Create the page under the first name that is free or belongs to a writable page of this run."""
        for other in range(MAX_NAMES):
            name = page_name(run.name, run.uid, number, other)
            try:
                return await self._client.create(CONFIG_MAPS, self._manifest(run, name, data))
            except AlreadyExists:
                there = await self._client.get(CONFIG_MAPS, name, run.namespace)
                if is_controlled_by(there, run.uid) and not there.get("immutable"):
                    return await self._replace(run, Page.of(there), data)
        raise MissingPage(
            f"page {number} of run {run.name} cannot be written: ConfigMap {name} and others have its names"
        )

    def _manifest(self, run: Cached, name: str, data: str) -> dict[str, Any]:
        return {
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

    async def _replace(self, run: Cached, page: Page, data: str) -> Mapping[str, Any]:
        body = [
            {"op": "replace", "path": "/metadata/uid", "value": page.uid},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": page.version},
            {
                "op": "add",
                "path": "/metadata/labels",
                "value": self._manifest(run, page.name, data)["metadata"]["labels"],
            },
            {"op": "add", "path": "/binaryData", "value": {KEY: data}},
        ]
        return await self._client.patch(CONFIG_MAPS, page.name, run.namespace, body, kind=PatchKind.JSON)
