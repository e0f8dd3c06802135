"""The outcome of a Job, from its pods, its conditions, the runner's report and the recorded stop.

The exit code decides success, unless a stop came first. The program's result is passed on unparsed.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from signal import Signals
from typing import Any, Final

from jangar.api.agents.agentrun_status import MAX_ARTIFACTS, MAX_URL
from jangar.api.meta import JsonObject
from jangar.api.phases import Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation import IGNORED_TERM, STOPPED_ON_REQUEST, Stop, not_before
from jangar.domain.job_execution.facts import (
    ContainerFacts,
    JobFacts,
    PodFacts,
    TemplateNames,
    Terminated,
)

MAX_MESSAGE: Final = 1024
"""Characters of a cause; a kubelet may quote the whole answer of a registry."""
MIN_REPEAT: Final = timedelta(seconds=30)
"""How long a recorded cause stands before another text of the same cause replaces it."""
_ORDINARY: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
_IMAGE: Final = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
_BACK_OFF: Final = re.compile(r'Back-off pulling image "[^"]*"')
_POD_NAME: Final = re.compile(r'pods "[^"]*"')
_LOST: Final = frozenset({"SupervisorLost", "RecordsLost"})
_BY_PROGRAM: Final = frozenset({None, "", "Error", "Completed"})
"""Reasons that say no more than the exit code; their message is the program's own."""
_BY_SHELL: Final = {126: "the command is not executable", 127: "command not found"}
_KILLED: Final = 137
_SIGNALS: Final = {128 + signal.value: signal.name for signal in Signals}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One fact that keeps work from going on, or ended it."""

    reason: Reason
    message: str


def waiting_cause(template: TemplateNames, pod: PodFacts | None, *, create_error: str | None) -> Cause | None:
    """Why the container of ours has not started; None if it is only a matter of time.

    `create_error` is what the Job controller says of a pod that it could not create.
    """
    if pod is None:
        return _not_created(create_error) if create_error else None
    if pod.unschedulable is not None:
        return Cause(
            reason=Reason.UNSCHEDULABLE, message=_short(pod.unschedulable or "no node can run the pod")
        )
    names = {*template.containers, *template.init_containers}
    waiting = [
        init_container
        for init_container in (*pod.init_containers, *pod.containers)
        if init_container.name in names and init_container.waiting_reason not in _ORDINARY
    ]
    return _of_container(waiting[0]) if waiting else None


def _not_created(message: str) -> Cause:
    """Without the pod name: it is generated for each attempt and would change the message."""
    error = _POD_NAME.sub("the pod", message.removeprefix("Error creating: "))
    return Cause(
        reason=Reason.FAILED_CREATE, message=_short(f"the Job controller cannot create the pod: {error}")
    )


def _of_container(container: ContainerFacts) -> Cause:
    reason = (
        Reason.IMAGE_PULL_BACK_OFF if container.waiting_reason in _IMAGE else Reason.CONTAINER_CONFIG_ERROR
    )
    shows_reason = container.waiting_reason not in {reason, "ErrImagePull"}
    parts = [
        f"container {container.name}",
        container.waiting_reason if shows_reason else "",
        container.waiting_message,
    ]
    return Cause(reason=reason, message=_short(": ".join(item for item in parts if item)))


def lasting_cause(
    found: Cause, *, reason: str | None, message: str, recorded_at: datetime | None, now: datetime
) -> Cause:
    """The cause to record, given the recorded one: a kubelet that alternates between two texts causes no writes.

    An image that cannot be pulled alternates between the registry's answer and the back-off, which says less.
    """
    if found.reason != reason or not message or message == found.message:
        return found
    recorded = Cause(reason=found.reason, message=message)
    if found.reason is Reason.IMAGE_PULL_BACK_OFF and _is_bare(found.message) != _is_bare(message):
        return recorded if _is_bare(found.message) else found
    is_fresh = recorded_at is not None and now < recorded_at + MIN_REPEAT
    return recorded if is_fresh else found


def _is_bare(message: str) -> bool:
    """Whether it says that pulling is tried again later, and not why."""
    return _BACK_OFF.sub("", message).rpartition(":")[2].strip() == ""


def end_cause(name: str, end: Terminated) -> Cause:
    """Why a container failed: what the node says of it, else its exit code and what that code means."""
    if end.reason == Reason.OOM_KILLED:
        message = f"container {name} ran out of memory (exit code {end.exit_code})"
        return Cause(reason=Reason.OOM_KILLED, message=message)
    if end.reason in _LOST:
        message = (
            f"container {name}: {end.message or 'its exit status is unknown'} (exit code {end.exit_code})"
        )
        return Cause(reason=Reason.SUPERVISOR_LOST, message=_short(message))
    if end.reason in {Reason.START_ERROR, "ContainerCannotRun"}:
        message = f"container {name} could not start: {end.message or f'exit code {end.exit_code}'}"
        return Cause(reason=Reason.START_ERROR, message=_short(message))
    message = f"container {name} ended with exit code {end.exit_code}"
    if end.reason not in _BY_PROGRAM:
        detail = ": ".join(item for item in (end.reason, end.message) if item)
        return Cause(reason=Reason.NON_ZERO_EXIT, message=_short(f"{message} ({detail})"))
    meaning = _BY_SHELL.get(end.exit_code) or _SIGNALS.get(end.exit_code)
    return Cause(reason=Reason.NON_ZERO_EXIT, message=f"{message} ({meaning})" if meaning else message)


def ignored_term(pod: PodFacts, ends: Sequence[tuple[str, Terminated]], requested_at: datetime) -> str:
    """What to say of containers that outlived their grace period and were killed; empty if none did."""
    grace = pod.grace
    if not grace:
        return ""
    names = [
        name
        for name, end in ends
        if end.exit_code == _KILLED
        and end.reason != Reason.OOM_KILLED
        and end.finished_at is not None
        and end.finished_at - requested_at >= grace - timedelta(seconds=1)
    ]
    if not names:
        return ""
    return f"container {', '.join(names)} {IGNORED_TERM} and was killed after {grace.total_seconds():g} s"


def _short(text: str) -> str:
    """On one line, and not longer than a message can bear."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_MESSAGE else line[: MAX_MESSAGE - 1] + "…"


CANCELS = frozenset({Reason.CANCELLED, Reason.RUN_CANCELLED})
"""Reasons of a stop that make the attempt Cancelled; every other one is a failure."""

CLOCK_TOLERANCE = timedelta(seconds=10)
"""Tolerance for clock skew: how long a node may take to start a pod, and we to observe it."""
KILLED = frozenset({137, 143})
"""Exit codes of a program that a signal ended: KILL, TERM."""

_END_OF_TIME = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of a piece of work; the times are the containers' own, by the node's clock."""

    phase: Phase
    reason: str
    message: str = ""
    exit_code: int | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    result: str | None = None
    """Termination message of the first container of our template, untouched."""
    pod_uid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StillRunning:
    """The pod has not ended; `started` once a container of ours runs or ran."""

    pod_uid: str
    started: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingCertain:
    """The outcome is not known yet; `read_live` if an uncached read of the pods may tell."""

    read_live: bool = False


Reading = Outcome | StillRunning | NothingCertain

_Ended = tuple[str, Terminated]


def read_outcome(
    template: TemplateNames,
    *,
    job: JobFacts | None,
    pods: Sequence[PodFacts],
    stop: Stop | None = None,
    first_pod_uid: str | None = None,
    seen_running_at: datetime | None = None,
    live: bool = False,
) -> Reading:
    """What is certain now. `first_pod_uid` is the pod recorded for the attempt, `seen_running_at` when it was
    first seen to run, by a clock that can be trusted; `live`: `pods` is no cache's word.
    """
    pod = first_pod(pods, recorded_uid=first_pod_uid)
    if pod is not None:
        return _of_pod(template, pod, job, stop, seen_running_at) or _still_running(template, pod)
    verdict = _of_job(job, stop)
    if verdict is None and first_pod_uid is not None and job is not None and not job.active:
        verdict = _pod_vanished(stop, first_pod_uid)
    if verdict is None:
        return NothingCertain()
    return verdict if live else NothingCertain(read_live=True)


def first_pod(pods: Sequence[PodFacts], *, recorded_uid: str | None = None) -> PodFacts | None:
    """The pod whose outcome counts: the recorded one, else the oldest."""
    if recorded_uid is not None:
        return next((pod for pod in pods if pod.uid == recorded_uid), None)
    return min(pods, key=lambda item: (item.created_at or _END_OF_TIME, item.name), default=None)


def duplicate_pods(pods: Sequence[PodFacts], *, recorded_uid: str | None = None) -> tuple[PodFacts, ...]:
    """Every other pod of the Job: to be deleted and reported as DuplicateExecution."""
    first = first_pod(pods, recorded_uid=recorded_uid)
    return tuple(pod for pod in pods if first is None or pod.uid != first.uid)


def stopped_outcome(stop: Stop, *, in_time: bool = True) -> Outcome:
    """The end of an attempt that we stopped; `in_time` is false where its end was not seen before the deadline."""
    if stop.reason in CANCELS:
        reason = Reason.CANCELLED if in_time else Reason.CANCEL_TIMED_OUT
        return Outcome(phase=Phase.CANCELLED, reason=reason, message=STOPPED_ON_REQUEST)
    return Outcome(phase=Phase.FAILED, reason=stop.reason, message=stop.message or f"stopped: {stop.reason}")


def _still_running(template: TemplateNames, pod: PodFacts) -> StillRunning:
    own = _named(pod.containers, template.containers)
    return StillRunning(pod_uid=pod.uid, started=any(item.running or item.terminated for item in own))


def _of_pod(
    template: TemplateNames,
    pod: PodFacts,
    job: JobFacts | None,
    stop: Stop | None,
    seen_running_at: datetime | None,
) -> Outcome | None:
    ended = _ended(pod.containers, template.containers)
    broken = [item for item in _ended(pod.init_containers, template.init_containers) if item[1].exit_code]
    complete = bool(broken) or (len(ended) == len(template.containers) and bool(ended))
    if not complete and not pod.is_over:
        return None
    ends = [*broken, *ended]
    ended_at = _latest_end(pod, ends, seen_running_at) if complete else None
    interrupted = _interrupted(pod, job, ends, ended_at)
    if stop is not None and (stop.cut(ended_at) or _by_suspension(interrupted, job)):
        verdict = stopped_outcome(stop)
        if ignored := ignored_term(pod, ends, stop.requested_at):
            verdict = replace(verdict, message=f"{verdict.message}; {ignored}")
    else:
        verdict = interrupted or _init_failed(broken) or _exited(ended) or _by_phase(pod, complete)
    return _with_containers(verdict, pod, template, ends)


def _named(containers: Sequence[ContainerFacts], names: Sequence[str]) -> list[ContainerFacts]:
    """Those of our template, in its order; injected ones are not looked at."""
    known = {container.name: container for container in containers}
    return [known[name] for name in names if name in known]


def _ended(containers: Sequence[ContainerFacts], names: Sequence[str]) -> list[_Ended]:
    return [(item.name, item.terminated) for item in _named(containers, names) if item.terminated]


def _latest_end(pod: PodFacts, ends: Sequence[_Ended], seen_running_at: datetime | None) -> datetime | None:
    """When the last of them ended; not known if it is not known of each.

    Of a node whose clock is off the latest moment that can be: with the doubt, never too early.
    """
    times = [item.finished_at for _, item in ends if item.finished_at]
    if not times or len(times) != len(ends):
        return None
    if pod.clock_behind:
        return max(times) + pod.clock_behind + CLOCK_TOLERANCE
    return max(times) - max(_clock_ahead(ends, seen_running_at) - CLOCK_TOLERANCE, timedelta(0))


def _clock_ahead(ends: Sequence[_Ended], seen_running_at: datetime | None) -> timedelta:
    """By how much the node's clock is ahead at least: it says that a container started after it was seen to run."""
    starts = [item.started_at for _, item in ends if item.started_at]
    return min(starts) - seen_running_at if starts and seen_running_at else timedelta(0)


def _interrupted(
    pod: PodFacts, job: JobFacts | None, ends: Sequence[_Ended], ended_at: datetime | None
) -> Outcome | None:
    """Ended externally in that second or later: whatever it returned, it did not end by itself."""
    if pod.reason == Reason.NODE_REBOOTED:
        return _failed(Reason.NODE_REBOOTED, pod.message or "the node restarted while the pod was running")
    evicted = pod.disrupted or pod.reason == Reason.EVICTED
    if evicted and (pod.disrupted_at is None or not_before(ended_at, pod.disrupted_at)):
        return _failed(Reason.EVICTED, pod.message or "the pod was evicted")
    deletion_requested_at = pod.deletion_requested_at
    if pod.deleting and (
        deletion_requested_at is None
        or not_before(ended_at, deletion_requested_at)
        or (pod.deletion_is_final and _killed(ends))
    ):
        if job is not None and job.deleting:
            return _failed(Reason.JOB_DELETED, "the Job was deleted while it was running")
        return _failed(Reason.POD_DELETED, "the pod was deleted while it was running")
    return None


def _killed(ends: Sequence[_Ended]) -> bool:
    return any(end.exit_code in KILLED and end.reason != Reason.OOM_KILLED for _, end in ends)


def _by_suspension(interrupted: Outcome | None, job: JobFacts | None) -> bool:
    """Whether it ended as our stop ends work, also where the node's clock is behind ours: a suspended Job deletes
    its pod.
    """
    return (
        interrupted is not None
        and interrupted.reason == Reason.POD_DELETED
        and job is not None
        and job.suspended
    )


def _init_failed(broken: Sequence[_Ended]) -> Outcome | None:
    if not broken:
        return None
    cause = end_cause(*broken[0])
    reason = Reason.INIT_FAILED if cause.reason is Reason.NON_ZERO_EXIT else cause.reason
    return _failed(reason, f"init {cause.message}")


def _exited(ended: Sequence[_Ended]) -> Outcome | None:
    """A failure by exit code, if there is one."""
    if not any(end.exit_code for _, end in ended):
        return None
    cause = end_cause(*_deciding_container(ended))
    return _failed(cause.reason, cause.message)


def _by_phase(pod: PodFacts, complete: bool) -> Outcome:
    """No exit code of ours says failure. A pod that failed only over an injected container did not fail for us."""
    if complete or pod.phase == "Succeeded":
        return Outcome(phase=Phase.SUCCEEDED, reason=Reason.SUCCEEDED)
    detail = ": ".join(part for part in (pod.reason, pod.message) if part)
    return _failed(Reason.JOB_FAILED, f"the pod failed: {detail}" if detail else "the pod failed")


def _failed(reason: Reason, message: str) -> Outcome:
    return Outcome(phase=Phase.FAILED, reason=reason, message=message)


def _deciding_container(ends: Sequence[_Ended]) -> _Ended:
    """The container whose exit code is reported: the one that failed first, else the first of the template."""
    failed = [end for end in ends if end[1].exit_code]
    return min(failed, key=lambda item: item[1].finished_at or _END_OF_TIME) if failed else ends[0]


def _with_containers(
    verdict: Outcome, pod: PodFacts, template: TemplateNames, ends: Sequence[_Ended]
) -> Outcome:
    """The verdict with what the containers left: code, times and result."""
    starts = [end.started_at for _, end in ends if end.started_at]
    finishes = [end.finished_at for _, end in ends if end.finished_at]
    results = [end.message for name, end in ends if name in template.containers[:1]]
    return replace(
        verdict,
        exit_code=_deciding_container(ends)[1].exit_code if ends else None,
        started_at=min(starts, default=None),
        finished_at=max(finishes, default=None),
        result=results[0] if results else None,
        pod_uid=pod.uid,
    )


def _of_job(job: JobFacts | None, stop: Stop | None) -> Outcome | None:
    """What a Job without pods says by itself."""
    if job is None:
        return None
    if job.complete or job.failed:
        if stop is not None and stop.cut(job.verdict_at):
            return stopped_outcome(stop)
        if job.complete:
            return Outcome(phase=Phase.SUCCEEDED, reason=Reason.SUCCEEDED, finished_at=job.verdict_at)
        detail = ": ".join(part for part in (job.verdict_reason, job.verdict_message) if part)
        return replace(_failed(Reason.JOB_FAILED, detail or "the Job failed"), finished_at=job.verdict_at)
    if stop is not None and (job.at_rest or (job.deleting and not job.active)):
        return stopped_outcome(stop)
    return None


def _pod_vanished(stop: Stop | None, uid: str) -> Outcome:
    """The recorded pod is gone although our finalizer should have kept it."""
    if stop is not None:
        return replace(stopped_outcome(stop), pod_uid=uid)
    return replace(
        _failed(Reason.POD_DELETED, "the pod was removed before its result was recorded"), pod_uid=uid
    )


MEMBER: Final = "runner"
MAX_PROBLEM: Final = 200


def report_of(result: str | None) -> JsonObject | None:
    """The runner's report in a result; None if there is none or it is not valid."""
    try:
        read = json.loads(result or "null")
    except (ValueError, RecursionError):
        return None
    found = read.get(MEMBER) if isinstance(read, dict) else None
    return found if isinstance(found, dict) else None


def artifacts_of(report: Mapping[str, Any] | None) -> list[JsonObject]:
    """The artifacts of the work, as a status lists them."""
    listed = (report or {}).get("artifacts")
    found = []
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, Mapping) and isinstance(item.get("name"), str) and not item.get("problem"):
            texts = {name: item.get(name) for name in ("name", "path", "key", "url")}
            kept = {name: value for name, value in texts.items() if isinstance(value, str)}
            if len(kept.get("url", "")) > MAX_URL:
                del kept["url"]
            found.append(kept)
    return found[:MAX_ARTIFACTS]


def warning_of(report: Mapping[str, Any] | None) -> str:
    """Warnings about a success: tool calls that were denied or all failed, and missing artifacts."""
    warnings = [_tool_warning((report or {}).get("toolCalls"))]
    listed = (report or {}).get("artifacts")
    warnings += [
        f"artifact {item.get('name')}: {item['problem']}"[:MAX_PROBLEM]
        for item in (listed[:MAX_ARTIFACTS] if isinstance(listed, list) else ())
        if isinstance(item, Mapping) and isinstance(item.get("problem"), str)
    ]
    return "; ".join(filter(None, warnings))


def _tool_warning(calls: Any) -> str:
    counts = calls if isinstance(calls, Mapping) else {}
    total, failed, denied = (
        count if isinstance(count := counts.get(name), int) else 0 for name in ("total", "failed", "denied")
    )
    warning = f"{denied} of {total} tool calls were denied" if denied else ""
    if total and failed >= total:
        failures = "its only tool call failed" if total == 1 else f"all {total} tool calls failed"
        warning = f"{failures} ({denied} denied)" if denied else failures
    return warning
