"""The graph of an orchestration for drawings: its steps, their dependencies and levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from jangar.api.phases import ExecutionMode
from jangar.cli.wording import counted
from jangar.domain.orchestration.graph import Graph


@dataclass(frozen=True, kw_only=True)
class Dag:
    """A graph to draw."""

    kind: str
    name: str
    mode: ExecutionMode
    step_kinds: Sequence[str]
    graph: Graph

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The length of the longest path from a root to each step, counted in steps."""
        levels = [0] * len(self.graph.names)
        for index in self.graph.order:
            levels[index] = max((levels[need] + 1 for need in self.graph.needs[index]), default=0)
        return tuple(levels)

    @cached_property
    def by_level(self) -> tuple[tuple[int, ...], ...]:
        """The steps of each level, in list order."""
        rows: list[list[int]] = [[] for _ in range(max(self.levels, default=-1) + 1)]
        for index, level in enumerate(self.levels):
            rows[level].append(index)
        return tuple(map(tuple, rows))

    @property
    def title(self) -> str:
        """The line above a drawing."""
        steps = counted(len(self.graph.names), "step")
        levels = counted(len(self.by_level), "level")
        how = "one after another" if self.mode is ExecutionMode.SEQUENTIAL else f"in {levels}"
        return f"{self.kind}/{self.name}: {steps} {how}"
