"""Every committed version of every object of a simulation, and the invariants of each version (reliability.md).

Checks the versions in commit order, independent of how they were produced.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jangar.controllers.resources import CHILD_UID, RUN_UID
from jangar.domain.job_execution.cleanup import OUTCOME_FINALIZER
from kubekit.times import parse_rfc3339

TERMINAL = frozenset({"Succeeded", "Failed", "Cancelled"})
BOOKKEEPING = frozenset({"resourceVersion", "managedFields"})
FOLLOWS = frozenset({"conditions", "observedGeneration", "updatedAt"})
STEP_TERMINAL = TERMINAL | {"Skipped"}


@dataclass(frozen=True, slots=True)
class Version:
    """One commit."""

    resource: str
    obj: Mapping[str, Any]
    gone: bool
    at: float = 0.0
    """Seconds of the simulation."""

    @property
    def uid(self) -> str:
        return str(self.obj["metadata"]["uid"])

    @property
    def status(self) -> Mapping[str, Any]:
        return self.obj.get("status") or {}


@dataclass(slots=True)
class History:
    """All commits and the violations in them."""

    versions: list[Version] = field(default_factory=list)
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Dependencies of each step of the orchestration."""
    forgiving: frozenset[str] = frozenset()
    """Steps whose failure is ignored."""
    taken_away: set[str] = field(default_factory=set)
    """Uids of objects whose finalizers users removed by force."""
    deleted_by_people: bool = False
    _newest: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)

    def add(self, version: Version) -> None:
        """A commit."""
        self.versions.append(version)
        key = (version.resource, version.obj["metadata"]["name"])
        if version.gone:
            self._newest.pop(key, None)
        else:
            self._newest[key] = version.obj
        for item in self._waiting:
            if not item.done():
                item.set_result(None)
        self._waiting.clear()

    async def next_commit(self) -> None:
        """Wait for the next commit plus the reaction time of users."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        await waiting
        await asyncio.sleep(0.01)

    def newest(self, resource: str, name: str) -> Mapping[str, Any] | None:
        """The current version of the object."""
        return self._newest.get((resource, name))

    def all_newest(self, resource: str) -> list[Mapping[str, Any]]:
        """In order of creation."""
        return [obj for (kind, _), obj in self._newest.items() if kind == resource]

    def violations(self) -> list[str]:
        return list(_Walk(self).all())


class _Walk:
    def __init__(self, history: History) -> None:
        self._history = history
        self._last: dict[str, Version] = {}
        self._ended_at: dict[str, float] = {}

    def all(self) -> Iterator[str]:
        for version in self._history.versions:
            before = self._last.get(version.uid)
            for item in self._look(version, before):
                yield f"{version.resource} {version.obj['metadata']['name']}: {item}"
            if version.gone:
                self._last.pop(version.uid, None)
            else:
                self._last[version.uid] = version

    def _look(self, new: Version, old: Version | None) -> Iterator[str]:
        if new.resource in ("orchestrationruns", "toolruns") and not new.gone:
            yield from self._status(new, old)
        if new.resource == "orchestrationruns" and not new.gone:
            yield from self._steps(new)
        if old is None and not new.gone:
            yield from self._created(new)
        if new.resource in ("jobs", "pods") and old is not None:
            yield from self._released(new, old)
        if new.resource == "orchestrationruns":
            yield from self._expired(new)

    def _status(self, new: Version, old: Version | None) -> Iterator[str]:
        before, after = (old.status if old else {}), new.status
        if before.get("phase") in TERMINAL and after.get("phase") != before["phase"]:
            yield f"I2: left {before['phase']} for {after.get('phase')}"
        for name in ("startedAt", "finishedAt"):
            if before.get(name) and after.get(name) != before[name]:
                yield f"I3: {name} moved from {before[name]} to {after.get(name)}"
        if after.get("phase") in TERMINAL and not after.get("finishedAt"):
            yield "I3: ended without finishedAt"
        times = after.get("startedAt"), after.get("finishedAt")
        if times[0] and times[1] and _later(times[0], times[1]):
            yield f"I3: started at {times[0]}, after it finished at {times[1]}"
        if after.get("observedGeneration", 0) < before.get("observedGeneration", 0):
            yield "I4: observedGeneration went back"
        if after.get("observedGeneration", 0) > new.obj["metadata"].get("generation", 0):
            yield "I4: observedGeneration is ahead of generation"
        yield from _ignored_cancel(new, old)
        if old is not None and _reported(new) == _reported(old):
            yield "I15: a write that changed nothing"
        if (
            new.resource == "orchestrationruns"
            and after.get("phase") in TERMINAL
            and before.get("phase") not in TERMINAL
        ):
            yield from self._children_have_ended(new)

    def _children_have_ended(self, run: Version) -> Iterator[str]:
        left = {item["name"] for item in (run.status.get("cancel") or {}).get("leftBehind") or ()}
        for child in self._last.values():
            name = child.obj["metadata"]["name"]
            if (
                child.resource in ("toolruns", "orchestrationruns")
                and _run_uid(child) == run.uid
                and name not in left
            ):
                finished = child.status.get("finishedAt")
                if finished is None:
                    yield f"I2: ended while its child {name} had not"
                elif _later(finished, run.status["finishedAt"]):
                    yield f"I3: finished at {run.status['finishedAt']}, before its child {name} at {finished}"

    def _steps(self, run: Version) -> Iterator[str]:
        steps = {step_status["name"]: step_status for step_status in run.status.get("stepStatuses") or ()}
        for name, step in steps.items():
            if step.get("attempt"):
                for need in self._history.needs.get(name, ()):
                    other = steps.get(need, {})
                    good = other.get("phase") == "Succeeded" or (
                        other.get("phase") == "Failed" and need in self._history.forgiving
                    )
                    if not good:
                        yield f"I5: step {name} started while {need} was {other.get('phase')}"
            if step.get("phase") == "Skipped":
                if not step.get("reason"):
                    yield f"I6: step {name} is skipped without a reason"
                if step.get("reason", "").startswith("Dependency") and not step.get("causes"):
                    yield f"I6: step {name} is skipped without causes"
                if step.get("resourceRef"):
                    yield f"I6: step {name} is skipped and has a child"

    def _created(self, new: Version) -> Iterator[str]:
        if new.resource == "jobs":
            child = self._last.get(new.obj["metadata"].get("labels", {}).get(CHILD_UID, ""))
            if child is None or child.status.get("phase") in TERMINAL | {"Cancelling"}:
                yield "I1, I7: a Job was created for a child that has ended, is ending, or is not there"
            elif (child.status.get("job") or {}).get("name") != new.obj["metadata"]["name"]:
                yield "GC-2: a Job was created before its intent was recorded"
        if new.resource == "toolruns" and (uid := _run_uid(new)):
            run = self._last.get(uid)
            if run is None or run.status.get("phase") in TERMINAL | {"Cancelling"}:
                yield "I7: a child was created for a run that has ended, is ending, or is not there"

    def _expired(self, run: Version) -> Iterator[str]:
        """A TTL is never cut short, by true time."""
        if run.status.get("phase") in TERMINAL:
            self._ended_at.setdefault(run.uid, run.at)
        ttl = (run.obj.get("spec") or {}).get("ttlSecondsAfterFinished")
        going = run.gone or run.obj["metadata"].get("deletionTimestamp")
        if ttl is None or self._history.deleted_by_people or not going:
            return
        lived = run.at - self._ended_at.get(run.uid, run.at)
        if lived < float(ttl) - 0.001:
            yield f"TTL: deleted {lived:.3f} s after its end, not {ttl} s"

    def _released(self, new: Version, old: Version) -> Iterator[str]:
        was = OUTCOME_FINALIZER in (old.obj["metadata"].get("finalizers") or ())
        still = OUTCOME_FINALIZER in (new.obj["metadata"].get("finalizers") or ()) and not new.gone
        if was and not still and new.uid not in self._history.taken_away:
            child = self._last.get(new.obj["metadata"].get("labels", {}).get(CHILD_UID, ""))
            if child is not None and not child.status.get("outcome"):
                yield "I9: released before the outcome was recorded"


def _ignored_cancel(new: Version, old: Version | None) -> Iterator[str]:
    """I8: a request to an ended run changes one condition, observedGeneration and updatedAt."""
    if old is None or old.status.get("phase") not in TERMINAL:
        return
    if old.status.get("observedGeneration") == new.status.get("observedGeneration"):
        return
    before, after = (
        {name: value for name, value in item.status.items() if name not in FOLLOWS} for item in (old, new)
    )
    if before != after:
        changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
        yield f"I8: {', '.join(changed)} changed after its end"
    reported = [
        {
            condition["type"]: (condition["status"], condition.get("reason"))
            for condition in one.status.get("conditions") or ()
        }
        for one in (old, new)
    ]
    for kind in sorted({*reported[0], *reported[1]} - {"CancelIgnored"}):
        if reported[0].get(kind) != reported[1].get(kind):
            yield f"I8: condition {kind} changed after its end"


def _reported(version: Version) -> tuple[object, ...]:
    """The significant fields of the status."""
    meta = {name: value for name, value in version.obj["metadata"].items() if name not in BOOKKEEPING}
    status = {name: value for name, value in version.status.items() if name != "updatedAt"}
    return (meta, version.obj.get("spec"), status)


def _later(one: str, other: str) -> bool:
    return parse_rfc3339(one) > parse_rfc3339(other)


def _run_uid(version: Version) -> str:
    return str((version.obj["metadata"].get("labels") or {}).get(RUN_UID, ""))
