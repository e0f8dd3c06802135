"""Jobs and pods as the API server serves them, read into facts. Tolerant: a field may be missing anywhere."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from jangar.domain.job_execution.facts import ContainerFacts, JobFacts, PodFacts, TemplateNames, Terminated
from jangar.domain.times import parse_rfc3339

Doc = Mapping[str, Any]


def pod_facts(pod: Doc) -> PodFacts:
    """What counts of a pod."""
    meta, status = _part(pod, "metadata"), _part(pod, "status")
    disruption = _condition(status, "DisruptionTarget")
    return PodFacts(
        name=meta.get("name") or "",
        uid=meta.get("uid") or "",
        created_at=_time(meta, "creationTimestamp"),
        phase=status.get("phase"),
        reason=status.get("reason"),
        message=status.get("message"),
        deleting=bool(meta.get("deletionTimestamp")),
        deletion_requested_at=_deletion_requested_at(meta),
        deletion_is_final=meta.get("deletionGracePeriodSeconds") == 0,
        clock_behind=_clock_behind(meta, status),
        disrupted=bool(disruption),
        disrupted_at=_time(disruption, "lastTransitionTime"),
        containers=_containers(status.get("containerStatuses")),
        init_containers=_containers(status.get("initContainerStatuses")),
        finalizers=tuple(meta.get("finalizers") or ()),
        unschedulable=_unschedulable(status),
        grace=_grace(pod),
    )


def _unschedulable(status: Doc) -> str | None:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return str(condition.get("message") or "")
    return None


def _grace(pod: Doc) -> timedelta | None:
    seconds = _part(pod, "spec").get("terminationGracePeriodSeconds")
    return None if seconds is None else timedelta(seconds=seconds)


def _deletion_requested_at(meta: Doc) -> datetime | None:
    """When the deletion was asked for: `deletionTimestamp` is that plus the grace period that stands beside it.

    A kubelet that shortens the grace period to nothing rewrites both together, and never to a time that has passed.
    """
    deadline, grace = _time(meta, "deletionTimestamp"), meta.get("deletionGracePeriodSeconds")
    return deadline - timedelta(seconds=grace) if deadline and grace is not None else None


def _clock_behind(meta: Doc, status: Doc) -> timedelta:
    """Creation and binding are the API server's times, `startTime` is the node's, and comes after both."""
    bound = _condition(status, "PodScheduled")
    before = [item for item in (_time(meta, "creationTimestamp"), _time(bound, "lastTransitionTime")) if item]
    taken_on = _time(status, "startTime")
    return max(
        (item - taken_on for item in before if taken_on is not None and item > taken_on), default=timedelta(0)
    )


def _containers(statuses: Iterable[Doc] | None) -> tuple[ContainerFacts, ...]:
    return tuple(_container(status) for status in statuses or ())


def _container(status: Doc) -> ContainerFacts:
    state = _part(status, "state")
    ended, waiting = state.get("terminated"), _part(state, "waiting")
    return ContainerFacts(
        name=status.get("name") or "",
        running=state.get("running") is not None,
        terminated=_terminated(ended) if ended is not None else None,
        waiting_reason=waiting.get("reason") or "",
        waiting_message=waiting.get("message") or "",
    )


def _terminated(ended: Doc) -> Terminated:
    """The end of a container; one without an exit code is no success."""
    return Terminated(
        exit_code=ended.get("exitCode", -1),
        reason=ended.get("reason"),
        started_at=_time(ended, "startedAt"),
        finished_at=_time(ended, "finishedAt"),
        message=ended.get("message"),
    )


def job_facts(job: Doc) -> JobFacts:
    """What counts of a Job."""
    meta, spec, status = _part(job, "metadata"), _part(job, "spec"), _part(job, "status")
    complete, failed = _condition(status, "Complete"), _condition(status, "Failed")
    verdict = complete or failed
    active, terminating = status.get("active") or 0, status.get("terminating") or 0
    return JobFacts(
        name=meta.get("name") or "",
        uid=meta.get("uid") or "",
        created_at=_time(meta, "creationTimestamp"),
        deleting=bool(meta.get("deletionTimestamp")),
        suspended=bool(spec.get("suspend")),
        at_rest=bool(_condition(status, "Suspended")) and not active and not terminating,
        active=active,
        complete=bool(complete),
        failed=bool(failed),
        verdict_at=_time(verdict, "lastTransitionTime"),
        verdict_reason=verdict.get("reason"),
        verdict_message=verdict.get("message"),
        ttl_seconds=spec.get("ttlSecondsAfterFinished"),
        finalizers=tuple(meta.get("finalizers") or ()),
    )


def template_names(template: Doc) -> TemplateNames:
    """Names of a pod template's own containers. An init container that always restarts is a sidecar."""
    spec = _part(template, "spec")
    return TemplateNames(
        containers=tuple(container["name"] for container in spec.get("containers") or ()),
        init_containers=tuple(
            init_container["name"]
            for init_container in spec.get("initContainers") or ()
            if init_container.get("restartPolicy") != "Always"
        ),
    )


def _part(doc: Doc, name: str) -> Doc:
    part: Doc = doc.get(name) or {}
    return part


def _condition(status: Doc, kind: str) -> Doc:
    """The condition if it holds, else an empty document."""
    for condition in status.get("conditions") or ():
        if condition.get("type") == kind and condition.get("status") == "True":
            found: Doc = condition
            return found
    return {}


def _time(doc: Doc, field: str) -> datetime | None:
    """None for a time that is missing or invalid: the Job is still evaluated without it."""
    try:
        return parse_rfc3339(doc[field])
    except (KeyError, ValueError, AttributeError):
        return None
