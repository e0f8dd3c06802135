"""What is known of all AgentRuns and ToolRuns, kept up to date change by change: no decision reads all objects anew.

Everything here follows from the caches, and so from the API; nothing is lost with the process.
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
from jangar.domain.policies.observation import Admitted, LiveRun, Observation, WaitingRun
from jangar.domain.policies.recording import Recorded, recorded_from
from jangar.domain.policies.request import RunRequest
from jangar.domain.times import parse_rfc3339
from kubekit.cache.object_cache import Cached, Change

TEMPLATE: Final = "agents.proompteng.ai/template"
"""Annotation of a run that is only copied."""
_OVER = frozenset({*map(str, TERMINAL), str(AgentRunPhase.TEMPLATE)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What matters of one run."""

    cached: Cached
    kind: str
    agent: str
    """Empty for a ToolRun."""
    admission: Recorded | None
    is_over: bool
    has_started: bool
    wants_to_stop: bool
    suspended: bool
    is_template: bool

    @property
    def holds_place(self) -> bool:
        """Admitted, or begun without being asked, and not ended."""
        admitted = self.admission is not None and self.admission.phase is AdmissionPhase.ADMITTED
        return not self.is_over and (admitted or self.has_started)

    @property
    def is_undecided(self) -> bool:
        """Nothing was decided for good."""
        return self.admission is None or self.admission.phase is AdmissionPhase.HELD

    @property
    def is_waiting(self) -> bool:
        """It wants to start."""
        settled = self.is_over or self.has_started or self.wants_to_stop or self.is_template
        return self.is_undecided and not settled

    @property
    def admitted_at(self) -> datetime | None:
        """What rates count by."""
        return self.admission.admitted_at if self.admission is not None else None

    @property
    def state(self) -> object:
        """What others wait for: a change of anything else frees and asks for nothing."""
        return (self.holds_place, self.is_waiting, self.suspended, self.cached.generation, self.cached.labels)


def seen_in(cached: Cached, kind: str = AGENT_RUN.name) -> Seen:
    """Read from the object."""
    obj: JsonObject = cached.view
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    phase = status.get("phase")
    started = phase == AgentRunPhase.RUNNING or bool(status.get("startedAt"))
    asked_to_stop = spec.get("cancel") is True or spec.get("desiredState") == "Cancelled"
    return Seen(
        cached=cached,
        kind=kind,
        agent=(spec.get("agentRef") or {}).get("name") or "",
        admission=recorded_from(status.get("admission")),
        is_over=phase in _OVER,
        has_started=started,
        wants_to_stop=asked_to_stop or cached.is_being_deleted,
        suspended=spec.get("suspend") is True,
        is_template=cached.annotations.get(TEMPLATE) == "true",
    )


@dataclass(slots=True)
class AgentRunIndex:
    """All runs, by uid."""

    references: ResolvedReferences
    window: timedelta
    runs: dict[str, Seen] = field(default_factory=dict)
    """Those that hold a place or wait for one."""
    _admitted: dict[str, Seen] = field(default_factory=dict)
    """Those that may count for rates."""
    _repositories: dict[str, str | None] = field(default_factory=dict)
    _served_at: dict[str, datetime] = field(default_factory=dict)
    _asked: dict[str, tuple[object, WaitingRun]] = field(default_factory=dict)

    def heard(self, change: Change, kind: str = AGENT_RUN.name) -> None:
        """A run came, changed or went. A deleted one counts for no rate any more: the API does not know it."""
        uid = change.subject.uid
        if change.new is None:
            self._forget(uid)
            self._admitted.pop(uid, None)
            return
        seen = seen_in(change.new, kind)
        if seen.holds_place or seen.is_waiting:
            self.runs[uid] = seen
        else:
            self._forget(uid)
        if at := seen.admitted_at:
            namespace = seen.cached.namespace
            self._admitted[uid] = seen
            self._served_at[namespace] = max(at, self._served_at.get(namespace, at))

    def _forget(self, uid: str) -> None:
        self.runs.pop(uid, None)
        self._asked.pop(uid, None)

    def observation(self, now: datetime) -> Observation:
        """All at this moment."""
        live = [run for run in self.runs.values() if run.holds_place]
        return Observation(
            live=[LiveRun(namespace=item.cached.namespace, agent=item.agent) for item in live],
            admitted=self._within_window(now),
            waiting=[self._waiting(run) for run in self.runs.values() if run.is_waiting],
            started=[item.cached.uid for item in live if item.is_undecided],
            served_at=self._served_at,
        )

    def _within_window(self, now: datetime) -> list[Admitted]:
        """The others are dropped: they never count again."""
        recent = {
            uid: (seen, at)
            for uid, seen in self._admitted.items()
            if (at := seen.admitted_at) and at > now - self.window
        }
        self._admitted = {uid: seen for uid, (seen, _) in recent.items()}
        self._repositories = {
            uid: self._repositories[uid] if uid in self._repositories else self._ask(seen).repository
            for uid, seen in self._admitted.items()
        }
        return [
            Admitted(namespace=seen.cached.namespace, repository=self._repositories[uid], at=at)
            for uid, (seen, at) in recent.items()
        ]

    def namespaces_of(self, uids: Iterable[str]) -> set[str]:
        """Where these runs are."""
        return {self.runs[uid].cached.namespace for uid in uids if uid in self.runs}

    def _waiting(self, seen: Seen) -> WaitingRun:
        """Read anew only when the run, or anything that runs name, has changed."""
        cached = seen.cached
        version = (cached.generation, tuple(cached.labels), self.references.version)
        known = self._asked.get(cached.uid)
        if known is None or known[0] != version:
            run = WaitingRun(
                uid=cached.uid,
                namespace=cached.namespace,
                name=cached.name,
                created_at=_moment(cached.creation_timestamp),
                ask=self._ask(seen),
                suspended=seen.suspended,
            )
            known = (version, run)
            self._asked[cached.uid] = known
        return known[1]

    def _ask(self, seen: Seen) -> RunRequest:
        if seen.kind == TOOL_RUN.name:
            return self.references.ask_of_tool_run(seen.cached)
        return self.references.ask(seen.cached)


def _moment(timestamp: str) -> datetime:
    """A run without a time of creation is no run that a server made: it is served last."""
    return parse_rfc3339(timestamp) if timestamp else datetime.max.replace(tzinfo=UTC)
