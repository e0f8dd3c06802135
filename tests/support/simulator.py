"""Drives the real planner through a scenario in virtual time: a world of scripted children, a cache that may lag,
a controller that may crash between any two of its steps, and time that jumps to whatever happens next.

Knows how controllers use a plan (record, then act); the rules that must hold are in `planner_invariants`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from random import Random

from jangar.api.phases import Phase, StepKind
from jangar.domain.cancellation.request import Requester
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
"""In one simulation, so that a cache that forgets at each of them catches up in the end."""
LIMITS = Limits()
REQUEST_TIMEOUT = 10 * SECOND


def moment(milliseconds: int) -> datetime:
    return NOON + timedelta(milliseconds=milliseconds)


def milliseconds(when: datetime) -> int:
    """Rounded up, so that a timer is never early."""
    return -((NOON - when) // timedelta(milliseconds=1))


class Crash(StrEnum):
    """Where a controller loses what it was about to do."""

    BEFORE_RECORDING = "the status was not recorded"
    CONFLICT = "the status was refused; the same process plans again and still has its plan"
    AFTER_RECORDING = "no action was done"
    WHILE_ACTING = "only the first actions were done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """What goes wrong around the planner. Each share is the rng of one pass."""

    crashes: float = 0.0
    crash_at: tuple[int, Crash] | None = None
    """In this pass only."""
    everywhere: bool = False
    """Each pass is first lost before its record, then after it, and done at the third try."""
    lag: int = 0
    """A cache hears of an event up to this much later, in order; after a restart it may know less than before."""
    on_the_wire: float = 0.0
    """The share of creates, among those cut by a crash, that arrive later all the same."""
    down: int = 0
    """A controller that crashed is back up to this much later."""
    idle_looks: float = 0.0
    """Passes without any news: duplicate and late events."""


@dataclass(slots=True, kw_only=True)
class SimulatedChild:
    """A child in the world, moving by its script."""

    name: str
    uid: str
    step: str
    number: int
    script: Attempt
    kind: StepKind
    created: int
    phase: Phase = Phase.PENDING
    stop_asked_at: int | None = None
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
        """When its script goes on to its own end."""
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
        elif self.stop_asked_at is None or self.script.end in {End.SUCCEEDS, End.FAILS}:
            times.append(self.alone)
        if self.stop_asked_at is not None:
            times.append(self._reacts())
        return min(times)

    def _reacts(self) -> int:
        match self.script.on_stop:
            case OnStop.OBEYS:
                return (self.stop_asked_at or 0) + self.script.grace
            case OnStop.WORK_IGNORES:
                return self.deadline
            case OnStop.IGNORES:
                return max(self.alone, self.deadline + 20 * SECOND)

    def change(self, now: int) -> None:
        """What is due at this moment."""
        if self.ended is not None:
            self.gone, self.left_behind = self.deleting, False
        elif self.stop_asked_at is not None and self._reacts() <= now:
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
        if self.stop_asked_at is not None:
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
        """CAN-7 as a child applies it: stopped, it never says that it succeeded."""
        if self.script.names_the_limit and self.stop_reason != "Cancelled":
            self._end(Phase.FAILED, self.stop_reason, now)
        else:
            self._end(Phase.CANCELLED, "Cancelled", now)

    def _end(self, phase: Phase, reason: str, now: int) -> None:
        self.phase, self.reason, self.ended = phase, reason, now

    def seen(self) -> ChildSeen | None:
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
            stop_requested=self.stop_asked_at is not None,
            left_behind=self.left_behind,
        )


@dataclass(frozen=True, slots=True)
class Event:
    """A change of a child, and when a cache hears of it."""

    heard: int
    name: str
    child: ChildSeen | None


@dataclass(slots=True)
class World:
    """The API server: children, and the log of what happened to them."""

    random: Random
    lag: int
    children: dict[str, SimulatedChild] = field(default_factory=dict)
    log: list[Event] = field(default_factory=list)

    def create(self, child: SimulatedChild, now: int) -> None:
        if child.name in self.children:
            assert not self.children[child.name].gone, f"I1: a second child of {child.name}"
            return
        earlier = [item for item in self.children.values() if item.step == child.step and item.is_live]
        assert all(item.stop_asked_at is not None and now >= item.deadline for item in earlier), (
            f"DAG-9: {child.name} was created while {[item.name for item in earlier]} runs"
        )
        self.children[child.name] = child
        self.tell(child, now)

    def tell(self, child: SimulatedChild, now: int) -> None:
        heard = now + (self.random.randrange(self.lag) if self.lag else 0)
        heard = max(heard, self.log[-1].heard if self.log else 0)
        self.log.append(Event(heard, child.name, child.seen()))

    def next_change(self) -> int | None:
        times = (child.next_change() for child in self.children.values())
        return min((time for time in times if time is not None), default=None)

    def advance(self, now: int, uids: frozenset[str]) -> None:
        """Let happen what is due. An object that nobody has noted yet is not deleted under the controller's eyes."""
        while (when := self.next_change()) is not None and when <= now:
            for child in self.children.values():
                if child.next_change() == when:
                    ends_unnoted = child.uid not in uids and (
                        child.deleting or child.script.end is End.VANISHES
                    )
                    if ends_unnoted and child.is_live and child.stop_asked_at is None and child.alone <= when:
                        child.script = replace(child.script, runs_for=child.script.runs_for + 500)
                        continue
                    child.change(when)
                    self.tell(child, max(when, 0))


class Simulation:
    """One run of one scenario. `versions` are all statuses that were recorded."""

    def __init__(self, scenario: Scenario, faults: Faults | None = None, **given: object) -> None:
        self.scenario = scenario
        self.faults = faults or Faults()
        self.random = Random(scenario.seed)  # noqa: S311 - a script, not a secret
        self.definition = scenario.definition()
        self.given = given
        self.on_plan: Callable[[Observation, Plan], None] = lambda seen, found: None
        self.on_quiet: Callable[[int], None] = lambda until: None
        """Called when there is nothing to do, with the time of what happens next."""
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
        """What a live read or a refused create said, and how old the log was then."""
        self.on_the_wire: list[tuple[int, StartChild]] = []
        self.news = False
        self.tries = self.crashes = 0

    # What the controller sees.

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
        asked = scenario.cancel_at is not None and scenario.cancel_at <= self.now
        deleted = asked and scenario.cancel_by is Requester.DELETION
        return a_run(
            generation=1 + sum(edge <= self.now for edge in edges) + asked,
            requested_by=frozenset({scenario.cancel_by}) if asked else frozenset(),
            deleted_at=moment(scenario.cancel_at or 0) if deleted else None,
            suspend=any(begin <= self.now < end for begin, end in scenario.suspended),
            stop_deadline=moment(scenario.cancel_at + OWNERS_PATIENCE)
            if asked and scenario.cancel_by is Requester.OWNER
            else None,
        )

    def _children(self) -> Mapping[str, Child]:
        log = self.world.log
        while self.cached < len(log) and log[self.cached].heard <= self.now:
            event = log[self.cached]
            self.cached += 1
            if event.child is None:
                self.cache.pop(event.name, None)
            else:
                self.cache[event.name] = event.child
            if event.name in self.noted and self.noted[event.name][0] < self.cached:
                del self.noted[event.name]
        found = {**self.cache, **{name: child for name, (_, child) in self.noted.items()}}
        names = list(found)
        self.random.shuffle(names)
        return {name: found[name] for name in names}

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
        """Everything that would wake the controller or change the world."""
        scenario = self.scenario
        yield from (edge for span in scenario.suspended for edge in span)
        yield scenario.defined_at
        yield scenario.cancel_at or 0
        if self.cached < len(self.world.log):
            yield self.world.log[self.cached].heard
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
        seen = self.observation()
        found = self._planned(seen)
        crash = self._crash()
        if crash is Crash.BEFORE_RECORDING:
            return self._restart()
        if crash is Crash.CONFLICT:
            self.previous, self.news = found, True
            return None
        self._record(seen, found)
        if crash is Crash.AFTER_RECORDING:
            return self._restart(found.actions)
        done = self.random.randrange(len(found.actions) + 1) if crash else len(found.actions)
        for action in found.actions[:done]:
            self._act(action)
        if crash:
            return self._restart(found.actions[done:])
        self.previous = found
        heard = self.world.log[self.cached :]
        self.news = self.news or any(event.heard <= self.now for event in heard)
        return found.look_again_at

    def _planned(self, seen: Observation) -> Plan:
        now = moment(self.now)
        found = plan(seen, now, self.previous)
        assert found.look_again_at is None or found.look_again_at > now, "ST-7: a hot loop"
        self.on_plan(seen, found)
        return found

    def _crash(self) -> Crash | None:
        faults = self.faults
        if faults.crash_at is not None:
            return faults.crash_at[1] if faults.crash_at[0] == self.passes else None
        if faults.everywhere and (self.noted or self.children_read):
            self.tries = 0  # else what a live read found would be lost each time, and for ever
        elif faults.everywhere:
            self.tries = (self.tries + 1) % 3
            return {1: Crash.BEFORE_RECORDING, 2: Crash.AFTER_RECORDING}.get(self.tries)
        if self.crashes < MAX_CRASHES and self.random.random() < faults.crashes:
            self.crashes += 1
            return self.random.choice(tuple(Crash))
        return None

    def _restart(self, lost: tuple[Action, ...] = ()) -> None:
        """A new process knows what is recorded, and what its cache lists: perhaps less than was known before."""
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
            # What was forgotten is heard again, a little later.
            for place in range(behind, len(self.world.log)):
                event = self.world.log[place]
                heard = max(event.heard, self.now + self.random.randrange(self.faults.lag))
                self.world.log[place] = Event(heard, event.name, event.child)
            self._keep_order(behind)

    def _keep_order(self, place: int) -> None:
        log = self.world.log
        for number in range(max(place, 1), len(log)):
            log[number] = Event(
                max(log[number].heard, log[number - 1].heard), log[number].name, log[number].child
            )

    def _record(self, seen: Observation, found: Plan) -> None:
        if found.status is seen.recorded:
            return
        assert found.status != seen.recorded, "I15: a write without a difference"
        check_version(self, self.recorded, found.status)
        self.recorded = found.status
        self.versions.append((self.now, found.status))

    def _arrive(self) -> None:
        """Creates whose sender died before it heard the answer."""
        due = [action for when, action in self.on_the_wire if when <= self.now]
        self.on_the_wire = [item for item in self.on_the_wire if item[0] > self.now]
        for action in due:
            known = self.world.children.get(action.child)
            if known is None or not known.gone:  # nobody deletes an object that was just created twice
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
                    self.world.tell(child, self.now)
            case ReadChildren():
                self._read_all()
            case RemoveRunFinalizer():
                self.released = action

    def _create(self, action: StartChild) -> None:
        index = next(place for place, step in enumerate(self.scenario.steps) if step.name == action.step)
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
            self._read(name)  # the answer NotFound is a live read
        elif child.ended is None and child.stop_asked_at is None:
            child.stop_asked_at, child.stop_reason = self.now, action.reason
            child.deadline = max(milliseconds(action.deadline), self.now)
            self.world.tell(child, self.now)

    def _read(self, name: str) -> None:
        child = self.world.children.get(name)
        shown = child.seen() if child is not None else None
        self._note(shown or ChildGone(name=name))

    def _read_all(self) -> None:
        cancel = self.recorded.cancel
        assert cancel is not None, "children are looked for after a cancel"
        late = moment(self.now) >= cancel.requested_at + LIMITS.request_timeout
        found = ChildrenRead.AFTER_REQUEST_TIMEOUT if late else ChildrenRead.AFTER_CANCEL
        self.news = self.news or found is not self.children_read
        self.children_read = found
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
