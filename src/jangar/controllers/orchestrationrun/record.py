"""A run's record, read from its status and pages and written back to them. Pages first: the status names them."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from jangar.controllers.orchestrationrun.memory import RunMemory
from jangar.controllers.orchestrationrun.step_pages import StepPages, read_steps
from jangar.controllers.status_writer import StatusWriter
from jangar.domain.orchestration.pages import MAX_INLINE, MAX_INLINE_BYTES, shown_inline
from jangar.domain.orchestration.state import RunRecord
from jangar.domain.orchestration.status_document import RUN_FIELDS, run_document, run_record
from kubekit.cache.informer import Informer
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client

KNOWN: Final = RUN_FIELDS | {"snapshotRef", "stepPages", "retention"}


class RunRecords:
    """Reads and writes records."""

    def __init__(self, client: Client, informer: Informer) -> None:
        self._client = client
        self._informer = informer
        self._writer = StatusWriter(client)
        self._pages = StepPages(client, informer.resource)

    async def read(self, seen: Cached, status: Mapping[str, Any], memory: RunMemory) -> RunRecord:
        """The record of this version: remembered if the status is the one we wrote, else read."""
        if memory.record is not None and memory.status == status:
            return memory.record
        memory.forget_record()
        record = run_record(status, await read_steps(self._client, seen, status))
        memory.record, memory.status = record, status
        return record

    async def write(
        self, seen: Cached, memory: RunMemory, record: RunRecord, more: Mapping[str, Any]
    ) -> Cached:
        """The run with this record. Raises Conflict if it is not the version that was planned for.

        Whatever goes wrong on the way, what was written is not known: the next pass reads it.
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
