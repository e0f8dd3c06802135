"""What becomes of a pod next: containers to start and stop, and when to look again. Pure; time is an argument."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from picokube.nodeagent import timestamps
from picokube.nodeagent.supervisor.orders import Run, RunKey

Obj = Mapping[str, Any]

ENDED = ("Succeeded", "Failed")
FIRST_BACKOFF = timedelta(seconds=10)
LONGEST_BACKOFF = timedelta(minutes=5)
CALM = timedelta(minutes=10)
"""A container that ran so long starts anew without a wait."""
DEFAULT_GRACE = 30
REFUSED = "UnsupportedField"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """TERM to a container, KILL after the grace."""

    key: RunKey
    grace: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPlan:
    """What to do now, and what is true afterwards."""

    start: Sequence[RunKey] = ()
    stop: Sequence[Stop] = ()
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    backing_off: Mapping[str, datetime] = field(default_factory=dict)
    """Containers that wait to be started again, and until when."""
    is_initialized: bool = False
    is_over: bool = False
    """Nothing runs and nothing will be started."""
    look_again_at: datetime | None = None


def plan_pod(pod: Obj, runs: Sequence[Run], *, now: datetime, refused: Sequence[str] = ()) -> PodPlan:
    return _Planner(pod, runs, now).plan(refused)


def latest_runs(runs: Sequence[Run]) -> dict[str, Run]:
    """The last start of each container."""
    return {run.key.container: run for run in sorted(runs, key=lambda run: run.key.restart)}


def is_sidecar(container: Obj) -> bool:
    return bool(container.get("restartPolicy") == "Always")


class _Planner:
    def __init__(self, pod: Obj, runs: Sequence[Run], now: datetime) -> None:
        self._pod, self._spec, self._now = pod, pod["spec"], now
        self._uid: str = pod["metadata"]["uid"]
        self._runs = latest_runs(runs)
        inits = self._spec.get("initContainers") or ()
        self._inits = [each["name"] for each in inits]
        self._sidecars = [each["name"] for each in inits if is_sidecar(each)]
        self._mains = [each["name"] for each in self._spec["containers"]]
        self._policy: str = self._spec.get("restartPolicy", "Always")
        self._grace: int = self._spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE)
        self._start: list[RunKey] = []
        self._backing_off: dict[str, datetime] = {}
        self._look_again_at: datetime | None = None

    def plan(self, refused: Sequence[str]) -> PodPlan:
        status = self._pod.get("status") or {}
        if status.get("phase") in ENDED:
            return self._stopping(status["phase"], status.get("reason", ""), status.get("message", ""), 0)
        lost = next((run for run in self._runs.values() if run.state == "lost"), None)
        if lost is not None:
            message = f"container {lost.key.container}: {lost.message}"
            return self._stopping("Failed", lost.reason, message, self._grace)
        if refused:
            return self._stopping("Failed", REFUSED, "; ".join(refused), 0)
        if left := self._pod["metadata"].get("deletionTimestamp"):
            grace = max((timestamps.read(left) - self._now).total_seconds(), 0)
            return self._stopping("", "", "", grace)
        if self._is_past_deadline(status):
            message = "Pod was active on the node longer than the specified deadline"
            return self._stopping("Failed", "DeadlineExceeded", message, self._grace)
        return self._going_on()

    def _is_past_deadline(self, status: Obj) -> bool:
        seconds = self._spec.get("activeDeadlineSeconds")
        if seconds is None or not (self._runs or status.get("startTime")):
            return False
        starts = [timestamps.from_epoch(run.started_at) for run in self._runs.values()]
        if status.get("startTime"):
            starts.append(timestamps.read(status["startTime"]))
        end = min(starts) + timedelta(seconds=seconds)
        if self._now >= end:
            return True
        self._look_again(end)
        return False

    def _going_on(self) -> PodPlan:
        if self._is_done():
            return self._stopping(self._verdict(), "", "", self._grace)
        for name in self._inits:
            if not self._is_past(name):
                failed = self._has_failed(name)
                if failed:
                    return self._stopping("Failed", "", "", self._grace)
                return self._result(self._phase(), is_initialized=False)
        for name in self._mains:
            self._keep(name, always=self._policy == "Always", on_failure=self._policy != "Never")
        return self._result("Running" if self._runs else "Pending", is_initialized=True)

    def _is_done(self) -> bool:
        """Whether every main container has ended for good: what serves them is not kept any longer."""
        runs = [self._runs.get(name) for name in self._mains]
        return self._policy != "Always" and all(
            run is not None and run.is_over and (run.code == 0 or self._policy == "Never") for run in runs
        )

    def _is_past(self, name: str) -> bool:
        """Whether the next container may start."""
        run = self._runs.get(name)
        if name in self._sidecars:
            self._keep(name, always=True, on_failure=True)
            return run is not None and (run.state == "running" or run.key.restart > 0)
        if run is not None and run.state == "ended" and run.code == 0:
            return True
        self._keep(name, always=False, on_failure=self._policy != "Never")
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

    def _keep(self, name: str, *, always: bool, on_failure: bool) -> None:
        """Start it if it never ran; start it again, when it is time, if the policy says so."""
        run = self._runs.get(name)
        if run is None:
            self._start.append(RunKey(self._uid, name, 0))
            return
        if not run.is_over or not (always or (on_failure and run.code != 0)):
            return
        due = _due(run)
        if due <= self._now:
            self._start.append(RunKey(self._uid, name, run.key.restart + 1))
        else:
            self._backing_off[name] = due
            self._look_again(due)

    def _stopping(self, phase: str, reason: str, message: str, grace: float) -> PodPlan:
        """Everything ends: first what does the work, then what serves it."""
        self._start, self._backing_off = [], {}
        running = [run for run in self._runs.values() if not run.is_over]
        first = [run for run in running if run.key.container not in self._sidecars] or running
        stop = [Stop(key=run.key, grace=grace) for run in first]
        if running:
            return self._result("Running", stop=stop, is_initialized=self._are_inits_done())
        return self._result(
            phase or self._verdict(),
            reason=reason,
            message=message,
            is_over=True,
            is_initialized=self._are_inits_done(),
        )

    def _verdict(self) -> str:
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

    def _look_again(self, at: datetime) -> None:
        self._look_again_at = at if self._look_again_at is None else min(at, self._look_again_at)

    def _result(self, phase: str, **facts: Any) -> PodPlan:
        return PodPlan(
            start=tuple(self._start),
            phase=phase,
            backing_off=dict(self._backing_off),
            look_again_at=self._look_again_at,
            **facts,
        )


def _due(run: Run) -> datetime:
    """When a container that ended may start again: at once the first time, then after growing waits."""
    end = timestamps.from_epoch(run.finished_at)
    lasted = timedelta(seconds=run.finished_at - run.started_at)
    if run.key.restart == 0 or lasted >= CALM:
        return end
    return end + min(FIRST_BACKOFF * (1 << min(run.key.restart - 1, 8)), LONGEST_BACKOFF)
