"""Why a Job's container has not started, and how it ended, as the node and the API server put it. Pure.

Knows the words of the kubelet, the scheduler and the Job controller; decides nothing about the work.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from signal import Signals
from typing import Final

from jangar.api.reasons import Reason
from jangar.domain.cancellation.stop import IGNORED_TERM
from jangar.domain.job_execution.facts import ContainerFacts, PodFacts, TemplateNames, Terminated

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
"""Reasons that say no more than the exit code; the message beside them is the program's own."""
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
