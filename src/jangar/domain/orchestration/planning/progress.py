"""The index of one planning pass: every step's state, and counters and timers derived from them.

It is built from the recorded states in time linear in the edges, or copied from the previous pass.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from heapq import heappop, heappush

from jangar.api.phases import StepPhase
from jangar.domain.orchestration.definition import Definition
from jangar.domain.orchestration.state import (
    Counts,
    StepState,
    blocks_dependents,
    is_unforgiven,
    releases,
    was_interrupted,
)
from jangar.kinds.registry import creates_child


class Progress:
    """Mutable during its pass only; the next pass works on a copy."""

    __slots__ = (
        "changed",
        "cut",
        "definition",
        "live",
        "placed",
        "retrying",
        "states",
        "tally",
        "timers",
        "touched",
        "unforgiven",
        "unmet",
    )

    def __init__(self, definition: Definition, states: Sequence[StepState]) -> None:
        self.definition = definition
        self.states = list(states)
        mode = definition.mode
        released = [releases(state, mode) for state in self.states]
        self.unmet = [
            len(needs) - sum(map(released.__getitem__, needs)) if needs else 0
            for needs in definition.graph.needs
        ]
        self.live = {index for index, state in enumerate(self.states) if state.attempt and state.is_live}
        self.placed = sum(self._holds_place(index) for index in self.live)
        self.retrying = {
            index for index, state in enumerate(self.states) if state.phase is StepPhase.RETRYING
        }
        self.unforgiven = {index for index, state in enumerate(self.states) if is_unforgiven(state)}
        self.cut = sum(was_interrupted(state) for state in self.states)
        self.tally = Counts.of(self.states)
        self.timers: list[tuple[datetime, int]] = []
        for index in (*self.live, *self.retrying):
            self._arm(index)
        self.changed: set[int] = set()
        self.touched: list[int] = []
        self._touch_all()

    def _touch_all(self) -> None:
        """Mark every step that may start, or must be skipped because of a recorded state."""
        barred = [blocks_dependents(state, self.definition.mode) for state in self.states]
        any_barred = any(barred)
        needs, position = self.definition.graph.needs, self.definition.graph.position
        for index, state in enumerate(self.states):
            if state.is_unstarted and (
                not self.unmet[index] or (any_barred and any(map(barred.__getitem__, needs[index])))
            ):
                self.touched.append(position[index])
        self.touched.sort()

    def copy(self) -> "Progress":
        """A copy that shares no mutable state."""
        copy = object.__new__(Progress)
        copy.definition = self.definition
        copy.states = self.states.copy()
        copy.unmet = self.unmet.copy()
        copy.live = self.live.copy()
        copy.placed = self.placed
        copy.retrying = self.retrying.copy()
        copy.unforgiven = self.unforgiven.copy()
        copy.cut = self.cut
        copy.tally = self.tally.copy()
        copy.timers = self.timers.copy()
        copy.changed = set()
        copy.touched = self.touched.copy()
        return copy

    def move(self, index: int, state: StepState) -> None:
        """Set a step's new state and update the index; mark its dependents if it ended."""
        old = self.states[index]
        if state is old:
            return
        self.states[index] = state
        self.changed.add(index)
        self.tally.move(old, state)
        was_live = index in self.live
        if was_live is not state.is_live:
            (self.live.add if state.is_live else self.live.discard)(index)
            self.placed += self._holds_place(index) * (1 if state.is_live else -1)
        (self.retrying.add if state.phase is StepPhase.RETRYING else self.retrying.discard)(index)
        self._arm(index)
        if state.is_terminal and not old.is_terminal:
            self._ended(index, state)

    def _ended(self, index: int, state: StepState) -> None:
        if is_unforgiven(state):
            self.unforgiven.add(index)
        self.cut += was_interrupted(state)
        graph = self.definition.graph
        if releases(state, self.definition.mode):
            for dependent in graph.dependents[index]:
                self.unmet[dependent] -= 1
                if not self.unmet[dependent] and self.states[dependent].is_unstarted:
                    heappush(self.touched, graph.position[dependent])
        else:
            for dependent in graph.dependents[index]:
                if self.states[dependent].is_unstarted:
                    heappush(self.touched, graph.position[dependent])

    def next_touched(self) -> int | None:
        """Remove and return the first touched step in topological order."""
        while self.touched:
            place = heappop(self.touched)
            while self.touched and self.touched[0] == place:
                heappop(self.touched)
            index = self.definition.graph.order[place]
            if self.states[index].is_unstarted:
                return index
        return None

    def touch(self, indexes: Iterable[int]) -> None:
        """Mark steps to be evaluated again."""
        for index in indexes:
            heappush(self.touched, self.definition.graph.position[index])

    def unstarted(self) -> Iterable[int]:
        return [index for index, state in enumerate(self.states) if state.is_unstarted]

    @property
    def all_terminal(self) -> bool:
        return self.tally.ended == len(self.states)

    def _holds_place(self, index: int) -> bool:
        return creates_child(self.definition.steps[index].kind)

    def timer_of(self, index: int) -> datetime | None:
        """When the step must be evaluated again if nothing changes."""
        state = self.states[index]
        if state.phase is StepPhase.RETRYING:
            return state.next_retry_at
        if not state.is_live:
            return None
        if state.stop is not None:
            return state.stop.deadline
        timeout = self.definition.steps[index].timeout
        return state.attempt_started_at + timeout if timeout and state.attempt_started_at else None

    def _arm(self, index: int) -> None:
        when = self.timer_of(index)
        if when is not None:
            heappush(self.timers, (when, index))

    def due(self, now: datetime) -> list[int]:
        """Remove and return the steps whose timers have fired."""
        found = []
        while self.timers and self.timers[0][0] <= now:
            when, index = heappop(self.timers)
            if self.timer_of(index) == when:
                found.append(index)
        return found

    def next_timer(self, now: datetime) -> datetime | None:
        """The earliest valid timer. A retry that is due waits for a slot or a resume, not for time."""
        while self.timers:
            when, index = self.timers[0]
            if self.timer_of(index) == when and not (when <= now and index in self.retrying):
                return when
            heappop(self.timers)
        return None
