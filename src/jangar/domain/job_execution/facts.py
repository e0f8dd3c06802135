"""Facts about a Job and its pods, read from their objects. Tolerant: any field may be missing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from kubekit.times import parse_rfc3339


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminated:
    """The end of a container, by the node's clock."""

    exit_code: int
    reason: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    message: str | None = None
    """What the program left as its termination message, untouched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerFacts:
    """One container of a pod; neither running nor terminated means that it waits."""

    name: str
    running: bool = False
    terminated: Terminated | None = None
    waiting_reason: str = ""
    waiting_message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFacts:
    """One pod of a Job."""

    name: str
    uid: str
    created_at: datetime | None = None
    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    deleting: bool = False
    deletion_requested_at: datetime | None = None
    deletion_is_final: bool = False
    """The node has released it: the deletion time is then that moment, not the request's."""
    clock_behind: timedelta = timedelta(0)
    """Minimum lag of the node's clock behind the API server's: the pod seems to start before its creation."""
    disrupted: bool = False
    """Kubernetes itself ends it: evicted, preempted, its node drained."""
    disrupted_at: datetime | None = None
    containers: tuple[ContainerFacts, ...] = ()
    init_containers: tuple[ContainerFacts, ...] = ()
    finalizers: tuple[str, ...] = ()
    unschedulable: str | None = None
    """What the scheduler says of a pod that no node takes."""
    grace: timedelta | None = None
    """Between SIGTERM and SIGKILL, as the pod's spec says."""

    @property
    def is_over(self) -> bool:
        """Whether the pod itself has ended, injected containers included."""
        return self.phase in {"Succeeded", "Failed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """The Job of an attempt."""

    name: str
    uid: str
    created_at: datetime | None = None
    deleting: bool = False
    suspended: bool = False
    """`spec.suspend`: asked for, not yet effective."""
    at_rest: bool = False
    """The Job controller says that it is suspended and that no pod is active or terminating."""
    active: int = 0
    complete: bool = False
    failed: bool = False
    verdict_at: datetime | None = None
    verdict_reason: str | None = None
    verdict_message: str | None = None
    ttl_seconds: int | None = None
    finalizers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateNames:
    """The containers that we asked for, in the template's order; all others were injected."""

    containers: tuple[str, ...]
    init_containers: tuple[str, ...] = ()


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
    """When the deletion was requested: `deletionTimestamp` minus `deletionGracePeriodSeconds`.

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
