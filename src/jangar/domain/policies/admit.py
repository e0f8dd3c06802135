"""Decides about all AgentRuns together, because limits apply across them.

Fair between namespaces: a free slot goes to the namespace with the fewest live runs, then to the one that was served
longest ago, then to the oldest run. A namespace that had a run ready to start and got no slot for five minutes comes
first once, so that long runs cannot starve it. Within a namespace the oldest run goes first, and a run that the limit
of its own Agent or repository blocks lets others pass.
"""

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from heapq import heapify, heappop, heappush
from typing import Final

from jangar.api.reasons import Reason
from jangar.domain.policies.policy import AdmissionPolicy, Queue
from jangar.domain.policies.policy_checks import policy_violation
from jangar.domain.policies.request import RunRequest
from jangar.domain.policies.verdicts import Allow, Hold, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRun:
    """One that holds a place: admitted, or started before there was admission, and not ended."""

    namespace: str
    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """One that counts for rates, ended or not."""

    namespace: str
    repository: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRun:
    """One that nothing was decided about for good."""

    uid: str
    namespace: str
    name: str
    created_at: datetime
    request: RunRequest
    suspended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """All runs at one moment."""

    live: Sequence[LiveRun] = ()
    admitted: Sequence[Admitted] = ()
    """At least those within the rate's window."""
    waiting: Sequence[WaitingRun] = ()
    started: Sequence[str] = ()
    """Uids of live runs without an admission: they started before admission was enabled."""
    served_at: Mapping[str, datetime] = field(default_factory=dict)
    """By namespace, when one of its runs was last admitted, as far as that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """A limit that is used up."""

    reason: Reason
    frees_at: datetime | None = None
    """When time alone takes it away."""


class Usage:
    """What live and lately admitted runs use. A run admitted in the future, by a clock that was ahead, counts as long
    as it may have been within the window; one further ahead does not, or it would block for as long as the clock erred.
    """

    def __init__(self, observation: Observation, policy: AdmissionPolicy, now: datetime) -> None:
        self._policy = policy
        self._now = now
        self.live_in = Counter(run.namespace for run in observation.live)
        self._live_of = Counter((run.namespace, run.agent) for run in observation.live)
        self._live = len(observation.live)
        window = policy.rate.window
        self._admissions: defaultdict[tuple[str, str], list[datetime]] = defaultdict(list)
        for item in sorted(observation.admitted, key=lambda run: run.at):
            if now - window < item.at <= now + window:
                for scope in _scopes(item.namespace, item.repository):
                    self._admissions[scope].append(min(item.at, now))

    def take(self, run: WaitingRun) -> None:
        """The run is admitted now."""
        self._live += 1
        self.live_in[run.namespace] += 1
        self._live_of[run.namespace, run.request.agent] += 1
        for scope in _scopes(run.namespace, run.request.repository):
            insort(self._admissions[scope], self._now)

    def obstacle(self, run: WaitingRun) -> Obstacle | None:
        """What keeps this run from being admitted."""
        most = self._policy.concurrency
        if (
            self._live >= most.cluster
            or self.live_in[run.namespace] >= most.namespace
            or (run.request.agent and self._live_of[run.namespace, run.request.agent] >= most.agent)
        ):
            return Obstacle(reason=Reason.CONCURRENCY_LIMIT)
        free = list(self._rates_freed(run))
        return Obstacle(reason=Reason.RATE_LIMIT, frees_at=max(free)) if free else None

    def _rates_freed(self, run: WaitingRun) -> Iterator[datetime]:
        rate = self._policy.rate
        limits = {"cluster": rate.cluster, "namespace": rate.namespace, "repo": rate.repo}
        for scope in _scopes(run.namespace, run.request.repository):
            limit, times = limits[scope[0]], self._admissions[scope]
            if 0 < limit <= len(times):
                yield times[len(times) - limit] + rate.window


def _scopes(namespace: str, repository: str | None) -> Iterator[tuple[str, str]]:
    yield "cluster", ""
    yield "namespace", namespace
    if repository is not None:
        yield "repo", repository


PATIENCE: Final = timedelta(minutes=5)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)

_SUSPENDED = Hold(
    reason=Reason.SUSPENDED, message="the run is suspended; once resumed, it is queued by its creation time"
)


def admit(observation: Observation, policy: AdmissionPolicy, now: datetime) -> dict[str, Verdict]:
    """What becomes of each run that waits, by uid."""
    verdicts: dict[str, Verdict] = {uid: Allow(reason=Reason.ALREADY_STARTED) for uid in observation.started}
    lines: defaultdict[str, list[WaitingRun]] = defaultdict(list)
    for run in sorted(observation.waiting, key=_age):
        found = _SUSPENDED if run.suspended else policy_violation(run.request, policy)
        if found is None:
            lines[run.namespace].append(run)
        else:
            verdicts[run.uid] = found
    usage = Usage(observation, policy, now)
    admitted = _admissions(lines, usage, observation, now)
    verdicts |= {uid: Allow() for uid in admitted}
    left = {
        namespace: [run for run in line if run.uid not in admitted]
        for namespace, line in sorted(lines.items())
    }
    return verdicts | _holds(left, usage, policy)


def _age(run: WaitingRun) -> tuple[datetime, str, str]:
    return (run.created_at, run.name, run.uid)


def _admissions(
    lines: dict[str, list[WaitingRun]], usage: Usage, observation: Observation, now: datetime
) -> set[str]:
    """Each run is looked at once: what a limit keeps back now it keeps back for the rest of this decision."""
    rest = {namespace: iter(line) for namespace, line in lines.items()}
    heads = {namespace: next(line) for namespace, line in rest.items()}
    served_at = dict(observation.served_at)

    def priority(namespace: str) -> tuple[bool, datetime, int, datetime, datetime, str]:
        head = heads[namespace]
        served = served_at.get(namespace, _NEVER)
        since = max(served, head.created_at)
        waited = since <= now - PATIENCE
        live = usage.live_in[namespace]
        return (not waited, since if waited else now, live, served, head.created_at, namespace)

    queue_heads = [priority(namespace) for namespace in heads]
    heapify(queue_heads)
    admitted: set[str] = set()
    while queue_heads:
        namespace = heappop(queue_heads)[-1]
        head = heads[namespace]
        if usage.obstacle(head) is None:
            usage.take(head)
            admitted.add(head.uid)
            served_at[namespace] = now
        following = next((run for run in rest[namespace] if usage.obstacle(run) is None), None)
        if following is not None:
            heads[namespace] = following
            heappush(queue_heads, priority(namespace))
    return admitted


def _holds(left: dict[str, list[WaitingRun]], usage: Usage, policy: AdmissionPolicy) -> dict[str, Verdict]:
    """Those in the queue, with their places, and those for which it is too short."""
    places: Counter[str] = Counter()
    queued: dict[str, int] = {}
    for run in _queued(left, policy.queue):
        places[run.namespace] += 1
        queued[run.uid] = places[run.namespace]
    messages = _HoldMessages(policy)
    return {
        run.uid: _hold(run, usage.obstacle(run), queued.get(run.uid), messages)
        for line in left.values()
        for run in line
    }


class _HoldMessages:
    """Sentences that thousands share."""

    def __init__(self, policy: AdmissionPolicy) -> None:
        self._policy = policy
        self._cache: dict[tuple[Reason, str, str, str | None], str] = {}

    def message_for(self, reason: Reason, run: WaitingRun) -> str:
        key = (reason, run.namespace, run.request.agent, run.request.repository)
        if key not in self._cache:
            self._cache[key] = why_held(reason, run, self._policy)
        return self._cache[key]


def _hold(run: WaitingRun, obstacle: Obstacle | None, place: int | None, messages: _HoldMessages) -> Hold:
    reason = obstacle.reason if obstacle else Reason.CONCURRENCY_LIMIT
    displayed_reason = reason if place is not None else Reason.QUEUE_LIMIT
    return Hold(
        reason=displayed_reason,
        message=messages.message_for(displayed_reason, run),
        position=place,
        look_again_at=obstacle.frees_at if obstacle else None,
    )


def _queued(left: dict[str, list[WaitingRun]], queue: Queue) -> Iterable[WaitingRun]:
    """One of each namespace in turn: a flood in one namespace leaves room for the others."""
    in_namespace: Counter[str] = Counter()
    in_repo: Counter[str | None] = Counter()
    total = 0
    for run in _round_robin(list(left.values())):
        repo = run.request.repository
        if queue.cluster and total >= queue.cluster:
            return
        if queue.namespace and in_namespace[run.namespace] >= queue.namespace:
            continue
        if queue.repo and repo is not None and in_repo[repo] >= queue.repo:
            continue
        total += 1
        in_namespace[run.namespace] += 1
        in_repo[repo] += 1
        yield run


def _round_robin(lines: Sequence[Sequence[WaitingRun]]) -> Iterable[WaitingRun]:
    for number in range(max(map(len, lines), default=0)):
        for line in lines:
            if number < len(line):
                yield line[number]


def why_held(reason: Reason, run: WaitingRun, policy: AdmissionPolicy) -> str:
    """Names every limit of that sort, and no count: what is used changes all the time, and each change is a write."""
    if reason is Reason.RATE_LIMIT:
        rate = policy.rate
        limits = _limits(rate.namespace, rate.repo, rate.cluster, run)
        return f"admissions within {rate.window.total_seconds():g} s are limited to {limits}"
    if reason is Reason.QUEUE_LIMIT:
        queue = policy.queue
        limits = _limits(queue.namespace, queue.repo, queue.cluster, run)
        return f"the queue is full (at most {limits}); the run is queued when others leave"
    most = policy.concurrency
    who = "run" if policy.counts_tool_runs else "AgentRun"
    of_agent = f"{most.agent} of Agent {run.request.agent} there, " if run.request.agent else ""
    return (
        f"waits for another {who} to finish: at most {most.namespace} may be active in namespace {run.namespace}, "
        f"{of_agent}{most.cluster} in total"
    )


def _limits(namespace: int, repo: int, cluster: int, run: WaitingRun) -> str:
    named = (
        (namespace, f"in namespace {run.namespace}"),
        (repo if run.request.repository else 0, f"for repository {run.request.repository}"),
        (cluster, "in total"),
    )
    return ", ".join(f"{limit} {where}" for limit, where in named if limit)
