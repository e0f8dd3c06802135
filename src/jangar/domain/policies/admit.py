"""Decides about all AgentRuns together: limits apply across them.

Fair between namespaces: a free place goes to the one with the fewest live runs, among equals to the one that was served
longest ago, then to the oldest run. A namespace that was given nothing for five minutes though it had a run that could
start comes first, once: none starves however long its live runs take. Within a namespace the oldest goes first,
and one that its own Agent's or repository's limit keeps back lets others pass.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from heapq import heapify, heappop, heappush
from typing import Final

from jangar.api.reasons import Reason
from jangar.domain.policies.observation import Observation, WaitingRun
from jangar.domain.policies.policy import AdmissionPolicy, Queue
from jangar.domain.policies.policy_checks import policy_violation
from jangar.domain.policies.usage import Obstacle, Usage
from jangar.domain.policies.verdicts import Allow, Hold, Verdict
from jangar.domain.policies.wording import why_held

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
