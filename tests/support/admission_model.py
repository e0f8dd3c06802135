"""Admission in thirty lines, slow and plain: try every waiting run again after each admission."""

from collections import Counter
from datetime import UTC, datetime, timedelta

from jangar.domain.policies.admit import Observation
from jangar.domain.policies.policy import AdmissionPolicy

PATIENCE = timedelta(minutes=5)
NEVER = datetime.min.replace(tzinfo=UTC)


def model(observation: Observation, policy: AdmissionPolicy, now) -> list[str]:
    """The uids that may start in order. No run here has missing references, is denied or is suspended."""
    live = [(run.namespace, run.agent) for run in observation.live]
    window = policy.rate.window
    times = [
        (run.namespace, run.repository)
        for run in observation.admitted
        if now - window < run.at <= now + window
    ]
    served, left, order = dict(observation.served_at), list(observation.waiting), []

    def fits(run):
        most, rate = policy.concurrency, policy.rate
        spaces, pairs = Counter(namespace for namespace, _ in live), Counter(live)
        rates = [
            (rate.cluster, len(times)),
            (rate.namespace, sum(namespace == run.namespace for namespace, _ in times)),
        ]
        if run.request.repository:
            rates.append((rate.repo, sum(repo == run.request.repository for _, repo in times)))
        return (
            len(live) < most.cluster
            and spaces[run.namespace] < most.namespace
            and pairs[run.namespace, run.request.agent] < most.agent
            and all(limit == 0 or used < limit for limit, used in rates)
        )

    def turn(run):
        since = max(served.get(run.namespace, run.created_at), run.created_at)
        starved = since <= now - PATIENCE
        busy = sum(namespace == run.namespace for namespace, _ in live)
        last = served.get(run.namespace, NEVER)
        return (not starved, since if starved else now, busy, last, run.created_at, run.namespace, run.name)

    while able := [run for run in left if fits(run)]:
        heads = [min((r for r in able if r.namespace == n), key=lambda r: (r.created_at, r.name)) for n in
                 {run.namespace for run in able}]  # fmt: skip
        run = min(heads, key=turn)
        left.remove(run)
        order.append(run.uid)
        live.append((run.namespace, run.request.agent))
        times.append((run.namespace, run.request.repository))
        served[run.namespace] = now
    return order
