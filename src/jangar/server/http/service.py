"""What the handlers work with, wired once by the process."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from jangar.operations.audit import AuditTrail
from jangar.operations.cluster_status import ClusterStatus
from jangar.operations.idempotency import KeyRing
from jangar.operations.live_runs import LiveRuns
from jangar.operations.past_runs import PastRuns
from jangar.operations.run_reads import RunReads
from jangar.server.http.identity import Caller, Doorkeeper, Right

Parts = Callable[[], Mapping[str, Sequence[str]]]
"""By name what is wrong with each part, as sentences; nothing if it is well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryKept:
    """How long history keeps what it stores of a run; None for ever."""

    record: timedelta | None
    log_tail: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One control plane."""

    version: str
    live: LiveRuns
    reads: RunReads
    doorkeeper: Doorkeeper
    trail: AuditTrail
    around: ClusterStatus
    now: Callable[[], datetime]
    parts: Parts
    namespace: str = "default"
    """Where runs are started unless another is named."""
    namespaces: tuple[str, ...] | None = None
    past: PastRuns | None = None
    tails: Path | None = None
    """Where the last lines of logs are kept, on a laptop."""
    metrics: Callable[[], bytes] = lambda: b""
    """What the process measures beside HTTP."""
    ring: KeyRing | None = None
    """Keeps idempotency keys for longer than what they made."""
    command_prefix: str = "jangar"
    """How the command line is called for this instance; with --data-dir where that is not the default."""
    history_kept: HistoryKept | None = None
    """How long history keeps runs, where this process knows it."""
    logs_access: bool = False
    """Whether every request is told in the log."""

    def command(self, words: str) -> str:
        """A command of ours as it is typed for this instance: its options stand last."""
        program, _, options = self.command_prefix.partition(" ")
        return f"{program} {words} {options}".rstrip()

    async def visible(self, caller: Caller, right: Right, namespace: str | None) -> frozenset[str] | None:
        """Namespaces that the caller may see; None for all. Empty if none, or not the one asked for."""
        if namespace is not None:
            return frozenset([namespace] if await caller.rights.has(right, namespace) else ())
        if await caller.rights.has(right, None):
            return None
        past = await self.past.namespaces() if self.past is not None else frozenset()
        known = sorted(self.live.namespaces() | past | {self.namespace})
        return frozenset([item for item in known if await caller.rights.has(right, item)])
