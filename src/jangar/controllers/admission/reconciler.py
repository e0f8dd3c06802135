"""Decides about all runs in one pass and writes the decisions that changed.

Authority over the single key ensures that one process decides at a time. Before the first decision after it gained
authority, and after a write whose result is unknown, the runs are read from the API: the cache may lack what another
process, or this one, has admitted. Otherwise a stale cache does no harm: a run that has ended still counts, a new one
waits. A denial is final, so everything that it depends on is read again first.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from jangar.controllers.admission.agent_run_index import AgentRunIndex, IndexedRun
from jangar.controllers.status_writer import StatusWriter
from jangar.domain.policies.admit import admit
from jangar.domain.policies.policy import AdmissionPolicy
from jangar.domain.policies.verdicts import Allow, Deny, Hold, Recorded, Verdict, record, recorded_to
from kubekit.cache.informer import Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client
from kubekit.client.errors import ApiError, Conflict, NotFound, may_have_taken_effect
from kubekit.controller.reconcile import DONE, Key, RequeueAfter, Result
from kubekit.times import rfc3339, whole_millisecond

log = logging.getLogger(__name__)

KEY: Final = Key("", "agentrun-admission")
"""The single key for all runs."""
WRITTEN_FIELDS: Final = frozenset({"admission", "updatedAt"})
RESYNC_INTERVAL: Final = timedelta(seconds=60)
"""How often the queue is decided again without a change."""
MAX_HOLDS_PER_PASS: Final = 100
"""Queue positions written in one pass; runs that may start need not wait for the rest."""
MAX_CONCURRENT_WRITES: Final = 8

_StatusChange: TypeAlias = tuple[IndexedRun, Recorded]
"""The version of a run that was decided about, and its new admission."""


class AdmissionReconciler:
    """Decides about every AgentRun of the namespaces, and about every ToolRun if the limits count them."""

    def __init__(
        self,
        *,
        client: Client,
        runs: Mapping[str, Informer],
        index: AgentRunIndex,
        writer: StatusWriter,
        policy: AdmissionPolicy,
        namespaces: Namespaces,
        now: Callable[[], datetime],
    ) -> None:
        """`runs` by the name of the kind."""
        self._client = client
        self._runs = runs
        self._index = index
        self._writer = writer
        self._policy = policy
        self._namespaces = namespaces
        self._now = now
        self._epoch = 1
        """Grows whenever the caches may have become stale."""
        self._synced_epoch = 0
        """The epoch in which the runs were last read from the API."""

    def invalidate_caches(self) -> None:
        """Read the runs again before the next decision: another process may have decided."""
        self._epoch += 1

    async def __call__(self, key: Key) -> Result:
        if key != KEY:
            return DONE
        while self._synced_epoch != self._epoch:
            epoch = self._epoch
            for informer in self._runs.values():
                await self._refresh(informer, self._namespaces.names)
            self._synced_epoch = epoch
        now = self._now()
        verdicts = self._decide(now)
        denied = [uid for uid, verdict in verdicts.items() if isinstance(verdict, Deny)]
        if denied:
            await self._refresh_references(denied)
            verdicts = self._decide(now)
        self.invalidate_caches()
        epoch = self._epoch
        has_more = await self._write(verdicts, now)
        self._synced_epoch = epoch
        return RequeueAfter(0.0) if has_more else _requeue(verdicts.values(), now)

    async def _refresh_references(self, denied: Iterable[str]) -> None:
        references = self._index.references
        namespaces = sorted(self._index.namespaces_of(denied))
        for informer in references.informers_of_denials:
            await self._refresh(informer, namespaces)
        references.invalidate()

    def _decide(self, now: datetime) -> dict[str, Verdict]:
        return admit(self._index.observation(now), self._policy, now)

    async def _refresh(self, informer: Informer, namespaces: Iterable[str] | None) -> None:
        """List into the cache, where newer versions win. The watch reports deleted objects."""
        for namespace in [None] if namespaces is None else namespaces:
            for obj in await self._client.list(informer.resource, namespace):
                informer.cache.record_write(obj)

    async def _write(self, verdicts: Mapping[str, Verdict], now: datetime) -> bool:
        """Write what changed, runs that may start first; whether some positions are left for another pass."""
        decided: dict[type[Verdict], list[_StatusChange]] = {Allow: [], Deny: [], Hold: []}
        for uid, verdict in verdicts.items():
            run = self._index.runs[uid]
            new = record(run.admission, verdict, now)
            if new != run.admission:
                decided[type(verdict)].append((run, new))
        holds = decided[Hold]
        await self._write_all([*decided[Allow], *decided[Deny], *holds[:MAX_HOLDS_PER_PASS]], now)
        return len(holds) > MAX_HOLDS_PER_PASS

    async def _write_all(self, changes: list[_StatusChange], now: datetime) -> None:
        """Try all writes, then raise the worst failure."""
        epoch = self._epoch
        failures: list[ApiError] = []
        slots = asyncio.Semaphore(MAX_CONCURRENT_WRITES)

        async def write(run: IndexedRun, new: Recorded) -> None:
            async with slots:
                try:
                    await self._write_one(run, new, now)
                except NotFound:
                    pass
                except ApiError as error:
                    failures.append(error)

        async with asyncio.TaskGroup() as group:
            for run, new in changes:
                group.create_task(write(run, new))
        if failures:
            # Conflicts alone leave nothing uncertain: those writes were rejected.
            if not any(may_have_taken_effect(failure) for failure in failures):
                self._synced_epoch = epoch
            raise next((failure for failure in failures if not isinstance(failure, Conflict)), failures[0])

    async def _write_one(self, run: IndexedRun, new: Recorded, now: datetime) -> None:
        cached = run.cached
        document = {"admission": recorded_to(new), "updatedAt": rfc3339(whole_millisecond(now))}
        await self._writer.write(self._runs[run.kind], cached, document, known=WRITTEN_FIELDS)
        fields = {"kind": run.kind, "run": str(Key(cached.namespace, cached.name)), "phase": str(new.phase)}
        log.info("admission decided", extra=fields)


def _requeue(verdicts: Iterable[Verdict], now: datetime) -> Result:
    holds = [verdict for verdict in verdicts if isinstance(verdict, Hold)]
    if not holds:
        return DONE
    times = [hold.look_again_at for hold in holds if hold.look_again_at is not None]
    wait = min([*times, now + RESYNC_INTERVAL]) - now
    return RequeueAfter(max(wait.total_seconds(), 0.001))
