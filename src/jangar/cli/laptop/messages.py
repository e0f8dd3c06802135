"""Messages about the local control plane: that it is up, what to run next, which work continues."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jangar.cli.wording import counted

if TYPE_CHECKING:
    from jangar.processes.data_directory import Instance
    from jangar.processes.laptop import End
    from jangar.processes.laptop_work import Stopped

SHOWN = 10


def ready_lines(instance: "Instance", *, data_option: str = "", detached: bool, page: str = "") -> list[str]:
    """Lines after the start. `data_option` targets this instance in later commands; `page` is the web page."""
    stop = f"jangar down{data_option}" if detached else "Ctrl-C"
    return [
        f"jangar {instance.version} is up: {instance.server}",
        *([f"Web UI: {page}"] if page else ()),
        "",
        "Next:",
        f"  export KUBECONFIG={instance.kubeconfig}",
        "  kubectl get nodes",
        f"  jangar apply{data_option} -f FILE",
        f"  jangar list{data_option} --watch",
        "",
        f"Data and log: {instance.data_dir}",
        f"Stop: {stop} (running work continues; jangar down{data_option} --stop-work stops it too)",
    ]


def already_up(instance: "Instance", data_option: str = "") -> str:
    since = f" since {instance.started_at}" if instance.started_at else ""
    return (
        f"jangar is already up (process {instance.pid}{since}): use it (jangar status{data_option}), "
        f"stop it (jangar down{data_option}), or choose another directory with --data-dir"
    )


def not_up(place: Path) -> str:
    return f"jangar is not up with {place}: start it with jangar up"


def end_lines(end: "End", data_option: str = "") -> list[str]:
    """Lines after a stop."""
    return [*(stopped_lines(end.stopped) if end.stopped else ()), going_on(end.going_on, data_option)]


def going_on(pods: int, data_option: str = "") -> str:
    if not pods:
        return "jangar is down; no pods are running"
    return (
        f"jangar is down; {counted(pods, 'pod')} still running; jangar up{data_option} re-adopts them "
        f"(to stop them: jangar up{data_option} --detach; jangar down{data_option} --stop-work)"
    )


def stopped_lines(stopped: "Stopped") -> list[str]:
    """The results of --stop-work."""
    lines = []
    if stopped.runs:
        lines.append(f"cancelled {counted(len(stopped.runs), 'run')}: {_some(stopped.runs)}")
    if stopped.others:
        lines.append(f"stopped other work: {_some(stopped.others)}")
    if stopped.left:
        lines.append(f"did not stop in time: {_some(stopped.left)}")
    return lines


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
