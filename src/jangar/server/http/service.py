"""The parts that HTTP handlers use, wired once by the process."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from jangar.operations.audit import AuditTrail
from jangar.operations.cluster_status import ClusterStatus
from jangar.operations.idempotency import KeyStore
from jangar.operations.live_runs import LiveRuns
from jangar.operations.past_runs import PastRuns
from jangar.operations.run_reading import RunSource
from jangar.server.http.identity import Authenticator, Principal, Right

Parts = Callable[[], Mapping[str, Sequence[str]]]
"""Returns the problems of each part by its name, as sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryKept:
    """How long the history keeps a run and its log; None means forever."""

    record: timedelta | None
    log_tail: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One control plane."""

    version: str
    live: LiveRuns
    runs: RunSource
    authenticator: Authenticator
    trail: AuditTrail
    cluster: ClusterStatus
    now: Callable[[], datetime]
    parts: Parts
    namespace: str = "default"
    """Default namespace of new runs."""
    namespaces: tuple[str, ...] | None = None
    past: PastRuns | None = None
    tails: Path | None = None
    """Directory with the stored ends of logs, on a laptop."""
    metrics: Callable[[], bytes] = lambda: b""
    """Metrics of the process, in addition to those of HTTP."""
    keys: KeyStore | None = None
    """Keeps idempotency keys longer than the objects created with them."""
    command_prefix: str = "jangar"
    """The CLI command for this instance, with --data-dir if that is not the default."""
    history_kept: HistoryKept | None = None
    """How long the history keeps runs, if this process knows."""
    logs_access: bool = False
    """Whether every request is logged."""

    def command(self, words: str) -> str:
        """A CLI command for this instance, with the options last."""
        program, _, options = self.command_prefix.partition(" ")
        return f"{program} {words} {options}".rstrip()

    async def visible(
        self, principal: Principal, right: Right, namespace: str | None
    ) -> frozenset[str] | None:
        """Namespaces that the principal may see; None for all, empty if none or not the requested one."""
        if namespace is not None:
            return frozenset([namespace] if await principal.rights.has(right, namespace) else ())
        if await principal.rights.has(right, None):
            return None
        past = await self.past.namespaces() if self.past is not None else frozenset()
        known = sorted(self.live.namespaces() | past | {self.namespace})
        return frozenset([name for name in known if await principal.rights.has(right, name)])
