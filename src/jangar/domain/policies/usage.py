"""How much of each limit is used, and which limit a run would break. Grows within one decision, never shrinks."""

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from jangar.api.reasons import Reason
from jangar.domain.policies.observation import Observation, WaitingRun
from jangar.domain.policies.policy import AdmissionPolicy


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
