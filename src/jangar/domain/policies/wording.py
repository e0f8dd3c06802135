"""Sentences about admission: why a run waits, and what `jangar explain` says of one that is held or denied."""

from collections.abc import Mapping
from typing import Any

from jangar.api.phases import AdmissionPhase
from jangar.api.reasons import Reason
from jangar.domain.policies.observation import WaitingRun
from jangar.domain.policies.policy import AdmissionPolicy


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


def place_in_queue(position: int | None) -> str:
    """To be added to a sentence about a run that waits; empty for one that has no place."""
    return f", at position {position} or earlier in its namespace's queue" if position else ""


def explain_admission(admission: Mapping[str, Any] | None) -> str | None:
    """What there is to say about `status.admission`; None for a run that may start, or where there is no admission."""
    if not admission:
        return None
    because = f"{admission.get('message') or 'no message'} ({admission.get('reason') or 'no reason'})"
    match admission.get("phase"):
        case AdmissionPhase.DENIED:
            return f"Denied by policy; it never starts: {because}."
        case AdmissionPhase.HELD:
            return f"Waiting for admission{place_in_queue(admission.get('position'))}: {because}."
        case _:
            return None
