"""An index of all AgentRuns and ToolRuns, updated by each change, so that no decision decodes all objects.

Everything in it follows from the caches, and so from the API; a new process rebuilds it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from jangar.api.agents.agentrun import AGENT_RUN
from jangar.api.meta import JsonObject
from jangar.api.phases import TERMINAL, AdmissionPhase, AgentRunPhase
from jangar.api.tools import TOOL_RUN
from jangar.controllers.admission.resolved_references import ResolvedReferences
from jangar.domain.policies.admit import Admitted, LiveRun, Observation, WaitingRun
from jangar.domain.policies.request import RunRequest
from jangar.domain.policies.verdicts import Recorded, recorded_from
from kubekit.cache.object_cache import Cached, Change
from kubekit.times import parse_rfc3339

TEMPLATE: Final = "agents.proompteng.ai/template"
"""Annotation of a run that is only copied."""
_OVER = frozenset({*map(str, TERMINAL), str(AgentRunPhase.TEMPLATE)})


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedRun:
    """The parts of a run that admission depends on."""

    cached: Cached
    kind: str
    agent: str
    """Empty for a ToolRun."""
    admission: Recorded | None
    is_over: bool
    has_started: bool
    stop_requested: bool
    suspended: bool
    is_template: bool

    @property
    def holds_slot(self) -> bool:
        """Whether the run is admitted, or started without admission, and has not ended."""
        admitted = self.admission is not None and self.admission.phase is AdmissionPhase.ADMITTED
        return not self.is_over and (admitted or self.has_started)

    @property
    def is_undecided(self) -> bool:
        """Whether no final decision was made."""
        return self.admission is None or self.admission.phase is AdmissionPhase.HELD

    @property
    def is_waiting(self) -> bool:
        """Whether the run is in the queue."""
        is_settled = self.is_over or self.has_started or self.stop_requested or self.is_template
        return self.is_undecided and not is_settled

    @property
    def admitted_at(self) -> datetime | None:
        """The time that rate limits count by."""
        return self.admission.admitted_at if self.admission is not None else None

    @property
    def state(self) -> object:
        """The part that decisions depend on; other changes neither free a slot nor request one."""
        return (self.holds_slot, self.is_waiting, self.suspended, self.cached.generation, self.cached.labels)


def indexed_run(cached: Cached, kind: str = AGENT_RUN.name) -> IndexedRun:
    """The index entry of an object."""
    obj: JsonObject = cached.view
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    phase = status.get("phase")
    started = phase == AgentRunPhase.RUNNING or bool(status.get("startedAt"))
    cancelled = spec.get("cancel") is True or spec.get("desiredState") == "Cancelled"
    return IndexedRun(
        cached=cached,
        kind=kind,
        agent=(spec.get("agentRef") or {}).get("name") or "",
        admission=recorded_from(status.get("admission")),
        is_over=phase in _OVER,
        has_started=started,
        stop_requested=cancelled or cached.is_being_deleted,
        suspended=spec.get("suspend") is True,
        is_template=cached.annotations.get(TEMPLATE) == "true",
    )


@dataclass(slots=True)
class AgentRunIndex:
    """The runs that admission depends on, by uid."""

    references: ResolvedReferences
    window: timedelta
    runs: dict[str, IndexedRun] = field(default_factory=dict)
    """Those that hold a slot or wait for one."""
    _admitted: dict[str, IndexedRun] = field(default_factory=dict)
    """Those that may count for rate limits."""
    _repositories: dict[str, str | None] = field(default_factory=dict)
    _served_at: dict[str, datetime] = field(default_factory=dict)
    _requests: dict[str, tuple[object, WaitingRun]] = field(default_factory=dict)

    def update(self, change: Change, kind: str = AGENT_RUN.name) -> None:
        """Apply a change. A deleted run no longer counts for rate limits, because the API no longer has it."""
        uid = change.subject.uid
        if change.new is None:
            self._forget(uid)
            self._admitted.pop(uid, None)
            return
        run = indexed_run(change.new, kind)
        if run.holds_slot or run.is_waiting:
            self.runs[uid] = run
        else:
            self._forget(uid)
        if at := run.admitted_at:
            namespace = run.cached.namespace
            self._admitted[uid] = run
            self._served_at[namespace] = max(at, self._served_at.get(namespace, at))

    def _forget(self, uid: str) -> None:
        self.runs.pop(uid, None)
        self._requests.pop(uid, None)

    def observation(self, now: datetime) -> Observation:
        """Everything that a decision at this time depends on."""
        live = [run for run in self.runs.values() if run.holds_slot]
        return Observation(
            live=[LiveRun(namespace=item.cached.namespace, agent=item.agent) for item in live],
            admitted=self._within_window(now),
            waiting=[self._waiting(run) for run in self.runs.values() if run.is_waiting],
            started=[item.cached.uid for item in live if item.is_undecided],
            served_at=self._served_at,
        )

    def _within_window(self, now: datetime) -> list[Admitted]:
        """The admissions within the window of the rate limits; older ones are dropped for good."""
        recent = {
            uid: (run, at)
            for uid, run in self._admitted.items()
            if (at := run.admitted_at) and at > now - self.window
        }
        self._admitted = {uid: run for uid, (run, _) in recent.items()}
        self._repositories = {
            uid: self._repositories[uid] if uid in self._repositories else self._request(run).repository
            for uid, run in self._admitted.items()
        }
        return [
            Admitted(namespace=run.cached.namespace, repository=self._repositories[uid], at=at)
            for uid, (run, at) in recent.items()
        ]

    def namespaces_of(self, uids: Iterable[str]) -> set[str]:
        """The namespaces of these runs."""
        return {self.runs[uid].cached.namespace for uid in uids if uid in self.runs}

    def _waiting(self, indexed: IndexedRun) -> WaitingRun:
        """Memoized until the run, or anything that runs reference, changes."""
        cached = indexed.cached
        version = (cached.generation, tuple(cached.labels), self.references.version)
        known = self._requests.get(cached.uid)
        if known is None or known[0] != version:
            run = WaitingRun(
                uid=cached.uid,
                namespace=cached.namespace,
                name=cached.name,
                created_at=_created_at(cached.creation_timestamp),
                request=self._request(indexed),
                suspended=indexed.suspended,
            )
            known = (version, run)
            self._requests[cached.uid] = known
        return known[1]

    def _request(self, run: IndexedRun) -> RunRequest:
        if run.kind == TOOL_RUN.name:
            return self.references.tool_run_request(run.cached)
        return self.references.request(run.cached)


def _created_at(timestamp: str) -> datetime:
    """A run without a creation time, which no server writes, is last in the queue."""
    return parse_rfc3339(timestamp) if timestamp else datetime.max.replace(tzinfo=UTC)
