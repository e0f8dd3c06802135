"""Runs read whole for somebody who looks: definitions are pinned, so each is decoded once."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from jangar.domain.orchestration.definition import Definition
from jangar.operations.live_runs import LiveRuns
from jangar.operations.past_runs import PastRuns
from jangar.operations.run_reading import RUNS, ReadRun, read_object
from kubekit.client.api_client import Client
from kubekit.client.errors import NotFound

KEPT: Final = 64


class RunReads:
    """By namespace and name: from the live objects, else from history."""

    def __init__(self, client: Client, live: LiveRuns, past: PastRuns | None) -> None:
        self._client = client
        self._live = live
        self._past = past
        self._definitions: OrderedDict[str, Definition] = OrderedDict()

    async def read(self, namespace: str, name: str, uid: str | None = None) -> ReadRun:
        """Raises NotFound. With a uid that very run, whatever has its name now."""
        live = await self._live_object(namespace, name)
        if live is not None and (uid is None or live["metadata"]["uid"] == uid):
            return await self.whole(live)
        past = await self._past.read(namespace, name=name, uid=uid) if self._past else None
        if past is None:
            raise NotFound(f"run {uid or name} not found in {namespace} or its history", status=404)
        return past

    async def _live_object(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        """The cache may not have heard of a run that was made a moment ago: then the API is asked."""
        found = self._live.object(namespace, name)
        if found is not None:
            return found
        try:
            return await self._client.get(RUNS, name, namespace)
        except NotFound:
            return None

    async def whole(self, obj: Mapping[str, Any]) -> ReadRun:
        """All of a run that was seen a moment ago."""
        uid = obj["metadata"]["uid"]
        known = self._definitions.get(uid)
        read = await read_object(self._client, dict(obj), known)
        if known is None and read.view is not None and (obj.get("status") or {}).get("snapshotRef"):
            self._definitions[uid] = read.view.definition
            if len(self._definitions) > KEPT:
                self._definitions.popitem(last=False)
        elif known is not None:
            self._definitions.move_to_end(uid)
        return read
