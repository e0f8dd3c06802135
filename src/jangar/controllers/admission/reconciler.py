"""The one pass of admission: look at all runs, decide, write what changed.

Only one process makes it at a time, by its authority over the one key. The first decision after authority was gained,
and after a write of which nobody knows whether it took effect, reads the runs from the API itself: the cache may be
behind what another process, or this one, has admitted. A cache that is behind otherwise does no harm: a run that has
ended still counts, one that was just made waits. A denial is for good, so what it rests on is read anew before.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from jangar.controllers.admission.agent_run_index import AgentRunIndex, Seen
from jangar.controllers.status_writer import StatusWriter
from jangar.domain.policies.admit import admit
from jangar.domain.policies.policy import AdmissionPolicy
from jangar.domain.policies.recording import Recorded, record, recorded_to
from jangar.domain.policies.verdicts import Allow, Deny, Hold, Verdict
from jangar.domain.times import rfc3339, whole_millisecond
from kubekit.cache.informer import Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client
from kubekit.client.errors import ApiError, Conflict, NotFound, may_have_taken_effect
from kubekit.controller.reconcile import DONE, Key, RequeueAfter, Result

log = logging.getLogger(__name__)

KEY: Final = Key("", "agentrun-admission")
"""The one that all runs are decided under."""
WRITTEN: Final = frozenset({"admission", "updatedAt"})
SAFETY: Final = timedelta(seconds=60)
"""So often a queue is looked at though nothing happened."""
HOLDS_A_PASS: Final = 100
"""So many places are told in one pass; then others may be admitted first."""
AT_ONCE: Final = 8

_Change: TypeAlias = tuple[Seen, Recorded]
"""The very version that was decided about, and what is to be written there."""


class AdmissionReconciler:
    """Decides about every AgentRun of the namespaces, and about every ToolRun where limits count them."""

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
        self._doubts = 1
        self._dispelled = 0
        """The doubts that were there when the runs were last read from the API."""

    def distrust(self) -> None:
        """Others may have decided meanwhile: read the runs anew before the next decision."""
        self._doubts += 1

    async def __call__(self, key: Key) -> Result:
        if key != KEY:
            return DONE
        while self._dispelled != self._doubts:
            doubts = self._doubts
            for informer in self._runs.values():
                await self._read(informer, self._namespaces.names)
            self._dispelled = doubts
        now = self._now()
        verdicts = self._decide(now)
        denied = [uid for uid, verdict in verdicts.items() if isinstance(verdict, Deny)]
        if denied:
            await self._look_closer(denied)
            verdicts = self._decide(now)
        self.distrust()
        doubts = self._doubts
        left = await self._write(verdicts, now)
        self._dispelled = doubts
        return RequeueAfter(0.0) if left else _again(verdicts.values(), now)

    async def _look_closer(self, denied: Iterable[str]) -> None:
        references = self._index.references
        places = sorted(self._index.namespaces_of(denied))
        for informer in references.decisive:
            await self._read(informer, places)
        references.doubt()

    def _decide(self, now: datetime) -> dict[str, Verdict]:
        return admit(self._index.observation(now), self._policy, now)

    async def _read(self, informer: Informer, places: Iterable[str] | None) -> None:
        """What the API itself says goes into the cache, where it is newer. What is gone there the watch will tell."""
        for place in [None] if places is None else places:
            for obj in await self._client.list(informer.resource, place):
                informer.cache.record_write(obj)

    async def _write(self, verdicts: Mapping[str, Verdict], now: datetime) -> bool:
        """Whether something was left for another pass. Those that may start are told first."""
        changes: dict[int, list[_Change]] = {order: [] for order in range(_LAST + 1)}
        for uid, verdict in verdicts.items():
            seen = self._index.runs[uid]
            new = record(seen.admission, verdict, now)
            if new != seen.admission:
                changes[_order(verdict)].append((seen, new))
        holds = changes.pop(_LAST)
        certain = [change for item in changes.values() for change in item]
        await self._write_all([*certain, *holds[:HOLDS_A_PASS]], now)
        return len(holds) > HOLDS_A_PASS

    async def _write_all(self, changes: list[_Change], now: datetime) -> None:
        """All are tried whatever becomes of one; then the worst that happened is raised."""
        doubts = self._doubts
        failures: list[ApiError] = []
        turns = asyncio.Semaphore(AT_ONCE)

        async def write(seen: Seen, new: Recorded) -> None:
            async with turns:
                try:
                    await self._write_one(seen, new, now)
                except NotFound:
                    pass
                except ApiError as error:
                    failures.append(error)

        async with asyncio.TaskGroup() as group:
            for seen, new in changes:
                group.create_task(write(seen, new))
        if failures:
            # Conflicts alone leave nothing uncertain: those writes were refused.
            if not any(may_have_taken_effect(failure) for failure in failures):
                self._dispelled = doubts
            raise next((failure for failure in failures if not isinstance(failure, Conflict)), failures[0])

    async def _write_one(self, seen: Seen, new: Recorded, now: datetime) -> None:
        document = {"admission": recorded_to(new), "updatedAt": rfc3339(whole_millisecond(now))}
        cached = seen.cached
        await self._writer.write(self._runs[seen.kind], cached, document, known=WRITTEN)
        log.info(
            "admission decided",
            extra={
                "kind": seen.kind,
                "run": str(Key(cached.namespace, cached.name)),
                "phase": str(new.phase),
            },
        )


_LAST = 2


def _order(verdict: Verdict) -> int:
    match verdict:
        case Allow():
            return 0
        case Deny():
            return 1
        case Hold():
            return _LAST


def _again(verdicts: Iterable[Verdict], now: datetime) -> Result:
    holds = [verdict for verdict in verdicts if isinstance(verdict, Hold)]
    if not holds:
        return DONE
    times = [hold.look_again_at for hold in holds if hold.look_again_at is not None]
    wait = min([*times, now + SAFETY]) - now
    return RequeueAfter(max(wait.total_seconds(), 0.001))
