"""Plans the next actions of a pod: containers to start and stop, phase and requeue time. Pure; time is an argument."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from kubekit.times import from_epoch, parse_rfc3339
from picokube.nodeagent.object_writes import TERMINAL_PHASES
from picokube.nodeagent.supervisor.protocol import Run, RunKey

PREFIX = "process://"
RECORDS_LOST = "RecordsLost"
Obj = Mapping[str, Any]
FIRST_BACKOFF = timedelta(seconds=10)
MAX_BACKOFF = timedelta(minutes=5)
BACKOFF_RESET = timedelta(minutes=10)
"""A container that ran for this long restarts without backoff."""
DEFAULT_GRACE = 30
UNSUPPORTED_FIELD = "UnsupportedField"


def known_runs(pod: Mapping[str, Any], runs: Sequence[Run], *, now: datetime) -> list[Run]:
    """The supervisor's runs, and a lost run for each start that only the status records."""
    status = pod.get("status") or {}
    recorded = {run.key for run in runs}
    all_runs = list(runs)
    for group in ("initContainerStatuses", "containerStatuses"):
        for container_status in status.get(group) or ():
            key = _parse_container_id(container_status.get("containerID", ""))
            if key is not None and key.pod == pod["metadata"]["uid"] and key not in recorded:
                all_runs.append(_lost_run(key, now))
    return all_runs


def _parse_container_id(container_id: str) -> RunKey | None:
    if not container_id.startswith(PREFIX):
        return None
    pod, container, restart = container_id.removeprefix(PREFIX).split("/")
    return RunKey(pod, container, int(restart))


def _lost_run(key: RunKey, now: datetime) -> Run:
    return Run(
        key=key,
        state="lost",
        code=137,
        started_at=now.timestamp(),
        finished_at=now.timestamp(),
        reason=RECORDS_LOST,
        message="the node agent's record of the container is missing; its exit code is unknown",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """SIGTERM to a container, and SIGKILL after `grace` seconds."""

    key: RunKey
    grace: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPlan:
    """The actions to take now and the resulting state."""

    start: Sequence[RunKey] = ()
    stop: Sequence[Stop] = ()
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    backing_off: Mapping[str, datetime] = field(default_factory=dict)
    """Containers in restart backoff, and when it ends."""
    is_initialized: bool = False
    is_over: bool = False
    """Nothing is running and nothing will be started."""
    requeue_at: datetime | None = None


def plan_pod(pod: Obj, runs: Sequence[Run], *, now: datetime, unsupported: Sequence[str] = ()) -> PodPlan:
    return _Planner(pod, runs, now).plan(unsupported)


def latest_runs(runs: Sequence[Run]) -> dict[str, Run]:
    """The latest run of each container."""
    return {run.key.container: run for run in sorted(runs, key=lambda run: run.key.restart)}


def is_sidecar(container: Obj) -> bool:
    return bool(container.get("restartPolicy") == "Always")


class _Planner:
    def __init__(self, pod: Obj, runs: Sequence[Run], now: datetime) -> None:
        self._pod, self._spec, self._now = pod, pod["spec"], now
        self._uid: str = pod["metadata"]["uid"]
        self._runs = latest_runs(runs)
        inits = self._spec.get("initContainers") or ()
        self._inits = [init["name"] for init in inits]
        self._sidecars = [init["name"] for init in inits if is_sidecar(init)]
        self._mains = [container["name"] for container in self._spec["containers"]]
        self._policy: str = self._spec.get("restartPolicy", "Always")
        self._grace: int = self._spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE)
        self._start: list[RunKey] = []
        self._backing_off: dict[str, datetime] = {}
        self._requeue_at: datetime | None = None

    def plan(self, unsupported: Sequence[str]) -> PodPlan:
        status = self._pod.get("status") or {}
        if status.get("phase") in TERMINAL_PHASES:
            return self._stop_all(status["phase"], status.get("reason", ""), status.get("message", ""), 0)
        lost_run = next((run for run in self._runs.values() if run.state == "lost"), None)
        if lost_run is not None:
            message = f"container {lost_run.key.container}: {lost_run.message}"
            return self._stop_all("Failed", lost_run.reason, message, self._grace)
        if unsupported:
            return self._stop_all("Failed", UNSUPPORTED_FIELD, "; ".join(unsupported), 0)
        if deadline := self._pod["metadata"].get("deletionTimestamp"):
            grace = max((parse_rfc3339(deadline) - self._now).total_seconds(), 0)
            return self._stop_all("", "", "", grace)
        if self._is_past_deadline(status):
            message = "Pod was active on the node longer than the specified deadline"
            return self._stop_all("Failed", "DeadlineExceeded", message, self._grace)
        return self._run_containers()

    def _is_past_deadline(self, status: Obj) -> bool:
        seconds = self._spec.get("activeDeadlineSeconds")
        if seconds is None or not (self._runs or status.get("startTime")):
            return False
        starts = [from_epoch(run.started_at) for run in self._runs.values()]
        if status.get("startTime"):
            starts.append(parse_rfc3339(status["startTime"]))
        end = min(starts) + timedelta(seconds=seconds)
        if self._now >= end:
            return True
        self._request_requeue(end)
        return False

    def _run_containers(self) -> PodPlan:
        if self._are_mains_done():
            return self._stop_all(self._final_phase(), "", "", self._grace)
        for name in self._inits:
            if not self._run_init(name):
                if self._has_failed(name):
                    return self._stop_all("Failed", "", "", self._grace)
                return self._result(self._phase(), is_initialized=False)
        for name in self._mains:
            self._ensure_running(name, always=self._policy == "Always", on_failure=self._policy != "Never")
        return self._result("Running" if self._runs else "Pending", is_initialized=True)

    def _are_mains_done(self) -> bool:
        """Whether all main containers have ended and won't be restarted. Sidecars are stopped then."""
        runs = [self._runs.get(name) for name in self._mains]
        return self._policy != "Always" and all(
            run is not None and run.is_over and (run.code == 0 or self._policy == "Never") for run in runs
        )

    def _run_init(self, name: str) -> bool:
        """Start an init container if necessary. Whether the next container may start."""
        run = self._runs.get(name)
        if name in self._sidecars:
            self._ensure_running(name, always=True, on_failure=True)
            return run is not None and (run.state == "running" or run.key.restart > 0)
        if run is not None and run.state == "ended" and run.code == 0:
            return True
        self._ensure_running(name, always=False, on_failure=self._policy != "Never")
        return False

    def _has_failed(self, name: str) -> bool:
        run = self._runs.get(name)
        return (
            name not in self._sidecars
            and run is not None
            and run.is_over
            and run.code != 0
            and self._policy == "Never"
        )

    def _ensure_running(self, name: str, *, always: bool, on_failure: bool) -> None:
        """Start a container that never ran, or restart it after its backoff if the restart policy allows it."""
        run = self._runs.get(name)
        if run is None:
            self._start.append(RunKey(self._uid, name, 0))
            return
        if not run.is_over or not (always or (on_failure and run.code != 0)):
            return
        restart_at = _restart_at(run)
        if restart_at <= self._now:
            self._start.append(RunKey(self._uid, name, run.key.restart + 1))
        else:
            self._backing_off[name] = restart_at
            self._request_requeue(restart_at)

    def _stop_all(self, phase: str, reason: str, message: str, grace: float) -> PodPlan:
        """Stop all containers, sidecars last. The phase is set when nothing is running."""
        self._start, self._backing_off = [], {}
        running = [run for run in self._runs.values() if not run.is_over]
        first = [run for run in running if run.key.container not in self._sidecars] or running
        stop = [Stop(key=run.key, grace=grace) for run in first]
        if running:
            return self._result("Running", stop=stop, is_initialized=self._are_inits_done())
        return self._result(
            phase or self._final_phase(),
            reason=reason,
            message=message,
            is_over=True,
            is_initialized=self._are_inits_done(),
        )

    def _final_phase(self) -> str:
        mains = [self._runs.get(name) for name in self._mains]
        return (
            "Succeeded"
            if all(run is not None and run.is_over and run.code == 0 for run in mains)
            else "Failed"
        )

    def _are_inits_done(self) -> bool:
        return all(
            (run := self._runs.get(name)) is not None
            and (name in self._sidecars or (run.is_over and run.code == 0))
            for name in self._inits
        )

    def _phase(self) -> str:
        return "Running" if any(name in self._runs for name in self._mains) else "Pending"

    def _request_requeue(self, at: datetime) -> None:
        self._requeue_at = at if self._requeue_at is None else min(at, self._requeue_at)

    def _result(self, phase: str, **fields: Any) -> PodPlan:
        return PodPlan(
            start=tuple(self._start),
            phase=phase,
            backing_off=dict(self._backing_off),
            requeue_at=self._requeue_at,
            **fields,
        )


def _restart_at(run: Run) -> datetime:
    """When an ended container may restart: immediately the first time, then with exponential backoff."""
    end = from_epoch(run.finished_at)
    duration = timedelta(seconds=run.finished_at - run.started_at)
    if run.key.restart == 0 or duration >= BACKOFF_RESET:
        return end
    return end + min(FIRST_BACKOFF * (1 << min(run.key.restart - 1, 8)), MAX_BACKOFF)
