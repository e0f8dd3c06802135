"""Runs the real planner through a scenario in virtual time: scripted children, a stale cache, a controller that may
crash between any two of its steps, and time that jumps to the next event.

Uses a plan as controllers do (record, then act); the rules are in `planner_invariants`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from random import Random

from jangar.api.phases import Phase, StepKind
from jangar.domain.cancellation import Requester
from jangar.domain.orchestration.planning.actions import (
    Action,
    ConfirmChild,
    PinDefinition,
    ReadChildren,
    RemoveRunFinalizer,
    StartChild,
    StopChild,
    SuspendChild,
)
from jangar.domain.orchestration.planning.observation import (
    Child,
    ChildGone,
    ChildRefused,
    ChildrenRead,
    ChildSeen,
    DefinitionMissing,
    Limits,
    Observation,
)
from jangar.domain.orchestration.planning.plan import Plan, plan
from jangar.domain.orchestration.state import RunRecord
from support.builders import NOON, a_run
from support.planner_invariants import check_action, check_end, check_version
from support.scenarios import FIRST_LOOK, OWNERS_PATIENCE, SECOND, Attempt, End, OnStop, Scenario

MAX_PASSES = 2000
MAX_CRASHES = 20
"""Per simulation, so that a cache that forgets at each of them catches up in the end."""
LIMITS = Limits()
REQUEST_TIMEOUT = 10 * SECOND


def moment(milliseconds: int) -> datetime:
    return NOON + timedelta(milliseconds=milliseconds)


def milliseconds(when: datetime) -> int:
    """Rounded up, so that a timer is never early."""
    return -((NOON - when) // timedelta(milliseconds=1))


class Crash(StrEnum):
    """The point at which a controller loses its pending work."""

    BEFORE_RECORDING = "the status was not recorded"
    CONFLICT = "the status was refused; the same process plans again and still has its plan"
    AFTER_RECORDING = "no action was done"
    WHILE_ACTING = "only the first actions were done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Faults around the planner. Each share is the probability per pass."""

    crashes: float = 0.0
    crash_at: tuple[int, Crash] | None = None
    """In this pass only."""
    everywhere: bool = False
    """Each pass is first lost before its record, then after it, and completed at the third try."""
    lag: int = 0
    """Maximum delay of cache events, in order; after a restart the cache may be behind its earlier state."""
    on_the_wire: float = 0.0
    """The share of creates, among those cut by a crash, that arrive later nevertheless."""
    down: int = 0
    """Maximum downtime of a crashed controller."""
    idle_looks: float = 0.0
    """Passes without changes: duplicate and late events."""


@dataclass(slots=True, kw_only=True)
class SimulatedChild:
    """A scripted child in the simulated cluster."""

    name: str
    uid: str
    step: str
    number: int
    script: Attempt
    kind: StepKind
    created: int
    phase: Phase = Phase.PENDING
    stop_requested_at: int | None = None
    stop_reason: str = ""
    deadline: int = 0
    reason: str = ""
    ended: int | None = None
    gone: bool = False
    deleting: bool = False
    suspended: bool = False
    left_behind: bool = False

    @property
    def is_live(self) -> bool:
        return self.ended is None and not self.gone

    @property
    def alone(self) -> int:
        """When its script continues to its own end."""
        return self.created + self.script.pending_for + self.script.runs_for

    def next_change(self) -> int | None:
        """When it changes by itself."""
        if self.gone:
            return None
        if self.ended is not None:
            if self.deleting:
                return self.ended + 1
            return self.deadline + 30 * SECOND if self.left_behind else None
        times = [self.created + self.script.pending_for] if self.phase is Phase.PENDING else []
        if self.deleting:
            times.append(self.alone + self.script.grace)
        elif self.stop_requested_at is None or self.script.end in {End.SUCCEEDS, End.FAILS}:
            times.append(self.alone)
        if self.stop_requested_at is not None:
            times.append(self._reacts())
        return min(times)

    def _reacts(self) -> int:
        match self.script.on_stop:
            case OnStop.OBEYS:
                return (self.stop_requested_at or 0) + self.script.grace
            case OnStop.WORK_IGNORES:
                return self.deadline
            case OnStop.IGNORES:
                return max(self.alone, self.deadline + 20 * SECOND)

    def change(self, now: int) -> None:
        """Apply the changes that are due."""
        if self.ended is not None:
            self.gone, self.left_behind = self.deleting, False
        elif self.stop_requested_at is not None and self._reacts() <= now:
            has_ended = self.alone <= now and self.script.end in {End.SUCCEEDS, End.FAILS}
            self.left_behind = self.script.on_stop is OnStop.WORK_IGNORES and not has_ended
            self._end_stopped(now)
        elif self.deleting and self.alone + self.script.grace <= now:
            self._end(Phase.CANCELLED, "Cancelled", now)
        elif self.alone <= now and not self.deleting:
            self._come_to_own_end(now)
        elif self.phase is Phase.PENDING:
            self.phase = Phase.RUNNING

    def _come_to_own_end(self, now: int) -> None:
        if self.stop_requested_at is not None:
            self._end_stopped(now)
            return
        match self.script.end:
            case End.SUCCEEDS:
                self._end(Phase.SUCCEEDED, "Succeeded", now)
            case End.FAILS:
                self._end(Phase.FAILED, "NonZeroExit", now)
            case End.CANCELLED_BY_HAND:
                self._end(Phase.CANCELLED, "Cancelled", now)
            case End.DELETED_BY_HAND:
                self.deleting, self.phase = True, Phase.CANCELLING
            case _:
                self.gone = True

    def _end_stopped(self, now: int) -> None:
        """CAN-7 for a child: once stopped, it never reports success."""
        if self.script.names_the_limit and self.stop_reason != "Cancelled":
            self._end(Phase.FAILED, self.stop_reason, now)
        else:
            self._end(Phase.CANCELLED, "Cancelled", now)

    def _end(self, phase: Phase, reason: str, now: int) -> None:
        self.phase, self.reason, self.ended = phase, reason, now

    def observed(self) -> ChildSeen | None:
        """As the API server shows it, in whole seconds."""
        if self.gone:
            return None
        return ChildSeen(
            name=self.name,
            uid=self.uid,
            phase=self.phase,
            reason=self.reason,
            created_at=moment(self.created // SECOND * SECOND),
            finished_at=None if self.ended is None else moment(self.ended // SECOND * SECOND),
            outputs={"number": str(self.number)} if self.phase is Phase.SUCCEEDED else None,
            deleting=self.deleting,
            suspended=self.suspended,
            stop_requested=self.stop_requested_at is not None,
            left_behind=self.left_behind,
        )


@dataclass(frozen=True, slots=True)
class Event:
    """A change of a child, and when a cache receives it."""

    received_at: int
    name: str
    child: ChildSeen | None


@dataclass(slots=True)
class World:
    """The API server: children, and the log of their events."""

    random: Random
    lag: int
    children: dict[str, SimulatedChild] = field(default_factory=dict)
    log: list[Event] = field(default_factory=list)

    def create(self, child: SimulatedChild, now: int) -> None:
        if child.name in self.children:
            assert not self.children[child.name].gone, f"I1: a second child of {child.name}"
            return
        earlier = [item for item in self.children.values() if item.step == child.step and item.is_live]
        assert all(item.stop_requested_at is not None and now >= item.deadline for item in earlier), (
            f"DAG-9: {child.name} was created while {[item.name for item in earlier]} runs"
        )
        self.children[child.name] = child
        self.record_change(child, now)

    def record_change(self, child: SimulatedChild, now: int) -> None:
        received_at = now + (self.random.randrange(self.lag) if self.lag else 0)
        received_at = max(received_at, self.log[-1].received_at if self.log else 0)
        self.log.append(Event(received_at, child.name, child.observed()))

    def next_change(self) -> int | None:
        times = (child.next_change() for child in self.children.values())
        return min((time for time in times if time is not None), default=None)

    def advance(self, now: int, uids: frozenset[str]) -> None:
        """Apply everything that is due. An object that the controller has just observed is not deleted in the same
        pass.
        """
        while (when := self.next_change()) is not None and when <= now:
            for child in self.children.values():
                if child.next_change() == when:
                    ends_unnoted = child.uid not in uids and (
                        child.deleting or child.script.end is End.VANISHES
                    )
                    if (
                        ends_unnoted
                        and child.is_live
                        and child.stop_requested_at is None
                        and child.alone <= when
                    ):
                        child.script = replace(child.script, runs_for=child.script.runs_for + 500)
                        continue
                    child.change(when)
                    self.record_change(child, max(when, 0))


class Simulation:
    """One run of one scenario. `versions` are all recorded statuses."""

    def __init__(self, scenario: Scenario, faults: Faults | None = None, **given: object) -> None:
        self.scenario = scenario
        self.faults = faults or Faults()
        self.random = Random(scenario.seed)  # noqa: S311 - a script, not a secret
        self.definition = scenario.definition()
        self.given = given
        self.on_plan: Callable[[Observation, Plan], None] = lambda observation, new_plan: None
        self.on_quiet: Callable[[int], None] = lambda until: None
        """Called when there is nothing to do, with the time of the next event."""
        self.world = World(self.random, self.faults.lag)
        self.now = FIRST_LOOK
        self.recorded = RunRecord()
        self.versions: list[tuple[int, RunRecord]] = []
        self.starts: list[tuple[str, int]] = []
        self.released: RemoveRunFinalizer | None = None
        self.passes = 0
        self.pinned = scenario.pinned
        self.children_read = ChildrenRead.NOT_YET
        self.previous: Plan | None = None
        self.cached = 0
        self.cache: dict[str, ChildSeen] = {}
        self.noted: dict[str, tuple[int, Child]] = {}
        """Results of live reads and rejected creates, and the age of the log at that time."""
        self.on_the_wire: list[tuple[int, StartChild]] = []
        self.news = False
        self.tries = self.crashes = 0

    # What the controller observes.

    def observation(self) -> Observation:
        return Observation(
            run=self._run(),
            definition=self.definition
            if self.defined
            else DefinitionMissing(message="no such Orchestration"),
            recorded=self.recorded,
            children=self._children(),
            pinned=self.pinned,
            children_read=self.children_read,
            limits=LIMITS,
            **self.given,  # type: ignore[arg-type]
        )

    @property
    def defined(self) -> bool:
        return self.scenario.defined_at <= self.now

    def _run(self):
        scenario = self.scenario
        edges = [edge for span in scenario.suspended for edge in span]
        requested = scenario.cancel_at is not None and scenario.cancel_at <= self.now
        deleted = requested and scenario.cancel_by is Requester.DELETION
        return a_run(
            generation=1 + sum(edge <= self.now for edge in edges) + requested,
            requested_by=frozenset({scenario.cancel_by}) if requested else frozenset(),
            deleted_at=moment(scenario.cancel_at or 0) if deleted else None,
            suspend=any(begin <= self.now < end for begin, end in scenario.suspended),
            stop_deadline=moment(scenario.cancel_at + OWNERS_PATIENCE)
            if requested and scenario.cancel_by is Requester.OWNER
            else None,
        )

    def _children(self) -> Mapping[str, Child]:
        log = self.world.log
        while self.cached < len(log) and log[self.cached].received_at <= self.now:
            event = log[self.cached]
            self.cached += 1
            if event.child is None:
                self.cache.pop(event.name, None)
            else:
                self.cache[event.name] = event.child
            if event.name in self.noted and self.noted[event.name][0] < self.cached:
                del self.noted[event.name]
        children = {**self.cache, **{name: child for name, (_, child) in self.noted.items()}}
        names = list(children)
        self.random.shuffle(names)
        return {name: children[name] for name in names}

    # What the controller does.

    def run(self) -> "Simulation":
        while True:
            self.world.advance(self.now, frozenset(step.child_uid or "" for step in self.recorded.steps))
            self._arrive()
            look_again_at = self._pass()
            if self.news:
                continue
            times = [time for time in self._times(look_again_at) if time > self.now]
            if not times:
                break
            self.on_quiet(min(times))
            idle = self.random.random() < self.faults.idle_looks
            self.now = self.random.randint(self.now, min(times)) if idle else min(times)
        assert self.recorded.lifecycle.is_terminal, f"stuck at {self.now} ms: {self.recorded.lifecycle}"
        check_end(self)
        return self

    def _times(self, look_again_at: datetime | None) -> Iterator[int]:
        """All times that trigger the controller or change the children."""
        scenario = self.scenario
        yield from (edge for span in scenario.suspended for edge in span)
        yield scenario.defined_at
        yield scenario.cancel_at or 0
        if self.cached < len(self.world.log):
            yield self.world.log[self.cached].received_at
        yield from (when for when, _ in self.on_the_wire)
        if (when := self.world.next_change()) is not None:
            yield when
        if look_again_at is not None:
            yield milliseconds(look_again_at)

    def _pass(self) -> datetime | None:
        """Observe, plan, record, act; any of it may be lost."""
        self.passes += 1
        assert self.passes < MAX_PASSES, f"a hot loop at {self.now} ms"
        self.news = False
        observation = self.observation()
        new_plan = self._planned(observation)
        crash = self._crash()
        if crash is Crash.BEFORE_RECORDING:
            return self._restart()
        if crash is Crash.CONFLICT:
            self.previous, self.news = new_plan, True
            return None
        self._record(observation, new_plan)
        if crash is Crash.AFTER_RECORDING:
            return self._restart(new_plan.actions)
        done = self.random.randrange(len(new_plan.actions) + 1) if crash else len(new_plan.actions)
        for action in new_plan.actions[:done]:
            self._act(action)
        if crash:
            return self._restart(new_plan.actions[done:])
        self.previous = new_plan
        received = self.world.log[self.cached :]
        self.news = self.news or any(event.received_at <= self.now for event in received)
        return new_plan.look_again_at

    def _planned(self, observation: Observation) -> Plan:
        now = moment(self.now)
        new_plan = plan(observation, now, self.previous)
        assert new_plan.look_again_at is None or new_plan.look_again_at > now, "ST-7: a hot loop"
        self.on_plan(observation, new_plan)
        return new_plan

    def _crash(self) -> Crash | None:
        faults = self.faults
        if faults.crash_at is not None:
            return faults.crash_at[1] if faults.crash_at[0] == self.passes else None
        if faults.everywhere and (self.noted or self.children_read):
            self.tries = 0  # otherwise each crash would lose the result of a live read, forever
        elif faults.everywhere:
            self.tries = (self.tries + 1) % 3
            return {1: Crash.BEFORE_RECORDING, 2: Crash.AFTER_RECORDING}.get(self.tries)
        if self.crashes < MAX_CRASHES and self.random.random() < faults.crashes:
            self.crashes += 1
            return self.random.choice(tuple(Crash))
        return None

    def _restart(self, lost: tuple[Action, ...] = ()) -> None:
        """A new process has the record and the list of its cache, which may be behind its earlier state."""
        for action in lost:
            if isinstance(action, StartChild) and self.random.random() < self.faults.on_the_wire:
                self.on_the_wire.append((self.now + self.random.randrange(1, REQUEST_TIMEOUT), action))
        self.now += self.random.randrange(self.faults.down) if self.faults.down else 0
        self.previous, self.news, self.noted = None, True, {}
        self.children_read = ChildrenRead.NOT_YET
        if self.faults.lag:
            self.cached, self.cache = self.random.randrange(self.cached + 1), {}
            behind, self.cached = self.cached, 0
            for event in self.world.log[:behind]:
                self.cached += 1
                self.cache.pop(event.name, None)
                if event.child is not None:
                    self.cache[event.name] = event.child
            # Lost events are delivered again a little later.
            for index in range(behind, len(self.world.log)):
                event = self.world.log[index]
                received = max(event.received_at, self.now + self.random.randrange(self.faults.lag))
                self.world.log[index] = Event(received, event.name, event.child)
            self._keep_order(behind)

    def _keep_order(self, number_in_log: int) -> None:
        log = self.world.log
        for number in range(max(number_in_log, 1), len(log)):
            log[number] = Event(
                max(log[number].received_at, log[number - 1].received_at), log[number].name, log[number].child
            )

    def _record(self, observation: Observation, new_plan: Plan) -> None:
        if new_plan.status is observation.recorded:
            return
        assert new_plan.status != observation.recorded, "I15: a write without a difference"
        check_version(self, self.recorded, new_plan.status)
        self.recorded = new_plan.status
        self.versions.append((self.now, new_plan.status))

    def _arrive(self) -> None:
        """Creates whose sender crashed before it received the response."""
        due = [action for when, action in self.on_the_wire if when <= self.now]
        self.on_the_wire = [item for item in self.on_the_wire if item[0] > self.now]
        for action in due:
            known = self.world.children.get(action.child)
            if known is None or not known.gone:  # an object that was just created twice is not deleted
                self._create(action)

    def _act(self, action: Action) -> None:
        check_action(self, action)
        match action:
            case PinDefinition():
                self.pinned = self.news = True
            case StartChild():
                self.starts.append((action.step, action.attempt))
                self._create(action)
            case ConfirmChild(child=name):
                self._read(name)
            case StopChild(child=name):
                self._stop(action, name)
            case SuspendChild(child=name, suspend=suspend):
                child = self.world.children.get(name)
                if child is not None and not child.gone and child.suspended != suspend:
                    child.suspended = suspend
                    self.world.record_change(child, self.now)
            case ReadChildren():
                self._read_all()
            case RemoveRunFinalizer():
                self.released = action

    def _create(self, action: StartChild) -> None:
        index = next(number for number, step in enumerate(self.scenario.steps) if step.name == action.step)
        script = self.scenario.steps[index].attempt(action.attempt)
        if script.end is End.REFUSED:
            self._note(ChildRefused(name=action.child, reason="Forbidden", message="no"))
            return
        child = SimulatedChild(
            name=action.child,
            uid=f"uid-{len(self.world.children)}",
            step=action.step,
            number=action.attempt,
            script=script,
            kind=action.kind,
            created=self.now,
        )
        self.world.create(child, self.now)

    def _stop(self, action: StopChild, name: str) -> None:
        child = self.world.children.get(name)
        if child is None or child.gone:
            self._read(name)  # the response NotFound is a live read
        elif child.ended is None and child.stop_requested_at is None:
            child.stop_requested_at, child.stop_reason = self.now, action.reason
            child.deadline = max(milliseconds(action.deadline), self.now)
            self.world.record_change(child, self.now)

    def _read(self, name: str) -> None:
        child = self.world.children.get(name)
        shown = child.observed() if child is not None else None
        self._note(shown or ChildGone(name=name))

    def _read_all(self) -> None:
        cancel = self.recorded.cancel
        assert cancel is not None, "children are looked for after a cancel"
        late = moment(self.now) >= cancel.requested_at + LIMITS.request_timeout
        children_read = ChildrenRead.AFTER_REQUEST_TIMEOUT if late else ChildrenRead.AFTER_CANCEL
        self.news = self.news or children_read is not self.children_read
        self.children_read = children_read
        for state in self.recorded.steps:
            if state.child is not None:
                self._read(state.child)
        for name in self.world.children:
            self._read(name)

    def _note(self, child: Child) -> None:
        known = self.noted.get(child.name, (0, None))[1] or self.cache.get(child.name)
        if known != child:
            self.noted[child.name] = (len(self.world.log), child)
            self.news = True
