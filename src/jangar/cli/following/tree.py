"""A run, its steps and its nested runs as one tree, from the view that all frontends share."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from jangar.api.phases import StepPhase
from jangar.api.reasons import Reason
from jangar.domain.cancellation import LeftBehind
from jangar.domain.orchestration.state import Counts
from jangar.domain.views.run_detail import RunDetail, StepRow, run_detail
from jangar.domain.views.run_row import RunRow, run_row
from jangar.operations.run_reading import ReadRun

ORDINARY_WAITS: Final = frozenset({"", Reason.PENDING, Reason.STARTING})
_PHASE_PREFIXES: Final = ("failed ", "skipped: ", "cancelled: ")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot:
    """A run as it was read, with its nested runs by the name of their step."""

    read: ReadRun
    inside: Mapping[str, "RunSnapshot"] = field(default_factory=dict)
    silence: timedelta = timedelta(0)
    """How long the API has not responded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One step of a tree."""

    step: StepRow
    allowed: int
    """Maximum number of attempts."""
    child_uid: str | None = None
    inside: "Tree | None" = None
    last_line: str = ""
    """The last line in the log of its work."""

    @property
    def is_active(self) -> bool:
        phase = self.step.phase
        is_started = phase is StepPhase.PENDING and self.step.attempt > 0
        return is_started or phase in {StepPhase.RUNNING, StepPhase.RETRYING}

    @property
    def is_ordinary_wait(self) -> bool:
        """Whether it waits for a reason that every step has for a moment."""
        return self.step.phase is StepPhase.PENDING and self.step.reason in ORDINARY_WAITS

    @property
    def has_failed(self) -> bool:
        return self.step.phase is StepPhase.FAILED and not self.step.failure_ignored

    @property
    def why(self) -> str:
        """The explanation of the phase, without the words that repeat the phase."""
        step = self.step
        if step.phase is StepPhase.SUCCEEDED and step.sentence == "succeeded":
            return ""
        if step.phase is StepPhase.RUNNING and "is being stopped" not in step.sentence:
            return step.sentence.partition("; ")[2]
        for prefix in _PHASE_PREFIXES:
            if step.sentence.startswith(prefix):
                return _unwrapped(step.sentence.removeprefix(prefix))
        return step.sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A run at one moment."""

    row: RunRow
    at: datetime
    nodes: tuple[Node, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    left_behind: tuple[LeftBehind, ...] = ()
    silence: timedelta = timedelta(0)

    @property
    def ended(self) -> int:
        return self.row.steps_ended

    @property
    def total(self) -> int:
        return len(self.nodes) or self.row.steps_total


def tree_of(snapshot: RunSnapshot, *, now: datetime, last_lines: Mapping[str, str]) -> Tree:
    """The tree of a run; `last_lines` has the last log line of a child's work by the child's uid."""
    read = snapshot.read
    if read.view is None:
        row = run_row(read.identity, read.record, now=now)
        counts = Counts.of(read.record.steps).document()
        return Tree(row=row, at=now, counts=counts, silence=snapshot.silence)
    detail = run_detail(read.identity, read.view, now=now)
    return Tree(
        row=detail.row,
        at=now,
        nodes=tuple(_nodes(snapshot, detail, now=now, last_lines=last_lines)),
        counts=detail.counts,
        outputs=detail.outputs,
        left_behind=detail.left_behind,
        silence=snapshot.silence,
    )


def _nodes(
    snapshot: RunSnapshot, detail: RunDetail, *, now: datetime, last_lines: Mapping[str, str]
) -> Iterator[Node]:
    view = snapshot.read.view
    if view is None:
        return
    for step, state, defined in zip(detail.steps, view.states, view.definition.steps, strict=True):
        nested = snapshot.inside.get(step.name)
        retries = defined.retries if defined.retries is not None else view.in_force.retries
        yield Node(
            step=step,
            allowed=1 + retries,
            child_uid=state.child_uid,
            inside=tree_of(nested, now=now, last_lines=last_lines) if nested else None,
            last_line=last_lines.get(state.child_uid or "", ""),
        )


def _unwrapped(words: str) -> str:
    """`(NonZeroExit: exit code 3); forgiven` without the parentheses."""
    if not words.startswith("("):
        return words
    depth = 0
    for at, sign in enumerate(words):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return words[1:at] + words[at + 1 :]
    return words


def why_of(row: RunRow) -> str:
    """Reason and message of a run; without the reason if it repeats the phase."""
    repeats_phase = row.reason in {"", str(row.phase)}
    return row.message if repeats_phase else f"{row.reason}: {row.message}"


def each_node(tree: Tree, path: str = "", depth: int = 0) -> Iterator[tuple[str, int, Node]]:
    """Every step with its path (`deploy/build`) and depth, parents before their nested steps."""
    for node in tree.nodes:
        node_path = f"{path}{node.step.name}"
        yield node_path, depth, node
        if node.inside is not None:
            yield from each_node(node.inside, f"{node_path}/", depth + 1)
