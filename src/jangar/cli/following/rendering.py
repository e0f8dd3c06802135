"""A followed run as text: the tree for a terminal, a line per transition for pipes and CI, and the summary. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from jangar.api.phases import STEP_TERMINAL, TERMINAL, Phase, StepPhase
from jangar.cli.following.tree import Node, Tree, each_node, why_of
from jangar.cli.output.spans import span
from jangar.cli.terminal import printable
from jangar.cli.wording import counted

GLYPHS: Final[Mapping[str, str]] = {
    "Pending": "·",
    "Running": "●",
    "Retrying": "↻",
    "Cancelling": "◌",
    "Succeeded": "✓",
    "Failed": "✗",
    "Skipped": "-",
    "Cancelled": "⊘",
}
PLAIN_GLYPHS: Final[Mapping[str, str]] = {
    "Pending": ".",
    "Running": "*",
    "Retrying": "~",
    "Cancelling": "!",
    "Succeeded": "+",
    "Failed": "x",
    "Skipped": "-",
    "Cancelled": "o",
}
STYLES: Final[Mapping[str, str]] = {
    "Running": "blue",
    "Retrying": "yellow",
    "Cancelling": "yellow",
    "Succeeded": "green",
    "Failed": "red",
    "Skipped": "bright_black",
    "Cancelled": "magenta",
    "Pending": "bright_black",
}
FAINT: Final = "bright_black"
PHASE_WIDTH: Final = max(len(item) for item in StepPhase)
SPAN_WIDTH: Final = 6
MIN_ROOM: Final = 3
COUNTED: Final = (
    "failed",
    "running",
    "retrying",
    "starting",
    "succeeded",
    "skipped",
    "cancelled",
    "ignored",
    "pending",
)


class Part(NamedTuple):
    """Text in one style; an empty style is the terminal's default."""

    text: str
    style: str = ""


Line = tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The size of a screen; without a height everything is shown."""

    width: int
    height: int | None = None


class _Row(NamedTuple):
    depth: int
    node: Node


def tree_lines(tree: Tree, size: Size, glyphs: Mapping[str, str] = GLYPHS) -> list[Line]:
    """The run, then a line per step; if the steps do not fit, counts and the failed and active steps."""
    rows = [_Row(depth, node) for _, depth, node in each_node(tree)]
    lines = [_head(tree, glyphs)]
    if note := _run_note(tree):
        lines.append((Part("  "), Part(note, "yellow")))
    room = None if size.height is None else max(size.height - len(lines) - 1, MIN_ROOM)
    if room is not None and len(rows) > room:
        # One line for the counts, one for the number of omitted steps.
        shown = _most_relevant(rows, room - 2)
        lines.append((Part("  "), Part(counts_text(tree), FAINT)))
        lines += _table(shown, size.width, glyphs)
        if left_out := _left_out(rows, shown):
            lines.append((Part("  "), Part(f"… {left_out}", FAINT)))
    else:
        lines += _table(rows, size.width, glyphs)
    return [_cut(line, size.width) for line in lines]


def counts_text(tree: Tree) -> str:
    """`3 failed, 12 running, 400 succeeded`. Pending steps whose child exists count as starting."""
    starting = sum(node.is_active and node.step.phase is StepPhase.PENDING for node in tree.nodes)
    counts = {**tree.counts, "starting": starting, "pending": tree.counts.get("pending", 0) - starting}
    return ", ".join(f"{counts[name]:,} {name}" for name in COUNTED if counts.get(name))


def text_of(line: Line) -> str:
    return "".join(part.text for part in line).rstrip()


def _head(tree: Tree, glyphs: Mapping[str, str]) -> Line:
    row = tree.row
    phase, style = str(row.phase), STYLES.get(str(row.phase), "")
    steps = f"  {tree.ended:,}/{tree.total:,} steps" if tree.total else ""
    took = f"  {span(row.duration)}" if row.duration is not None else ""
    return (
        Part(f"{glyphs.get(phase, '')} ", style),
        Part(row.name, "bold"),
        Part(f"  {phase}", style),
        Part(f"{steps}{took}"),
    )


def _run_note(tree: Tree) -> str:
    """Why a run does not make progress; empty for ended runs, which have a summary."""
    row = tree.row
    if tree.silence:
        return f"the API has not responded for {span(tree.silence)}; this may be out of date"
    if row.phase in TERMINAL | {Phase.RUNNING} or not row.message:
        return ""
    return printable(why_of(row))


def _most_relevant(rows: Sequence[_Row], room: int) -> list[_Row]:
    """Failed and active steps in the order of the tree; each group gets at least half of the room if it needs it."""
    failed = [at for at, row in enumerate(rows) if row.node.has_failed]
    active = [at for at, row in enumerate(rows) if _is_worth_showing(row.node)]
    for_failed = max(room // 2, room - len(active))
    chosen = failed[:for_failed]
    chosen += active[: max(room - len(chosen), 0)]
    return [rows[at] for at in sorted(chosen)]


def _is_worth_showing(node: Node) -> bool:
    """Whether it is active beyond an ordinary wait: a large run can have hundreds of steps that are about to start."""
    return node.is_active and (bool(node.last_line) or not node.is_ordinary_wait)


def _left_out(rows: Sequence[_Row], shown: Sequence[_Row]) -> str:
    """`20 more running, 3 more failed`."""
    total, visible = _kinds(rows), _kinds(shown)
    return ", ".join(
        f"{total[kind] - visible[kind]:,} more {kind}" for kind in total if total[kind] > visible[kind]
    )


def _kinds(rows: Iterable[_Row]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in rows:
        if row.node.has_failed:
            counts["failed"] += 1
        elif _is_worth_showing(row.node):
            counts["running"] += 1
    return counts


def _table(rows: Sequence[_Row], width: int, glyphs: Mapping[str, str]) -> list[Line]:
    longest = max((2 * row.depth + len(row.node.step.name) for row in rows), default=0)
    names = min(longest, max(width * 3 // 10, 12))
    attempts = max((len(_attempt(row.node)) for row in rows), default=0)
    return [_step_line(row, names, attempts, glyphs) for row in rows]


def _step_line(row: _Row, names: int, attempts: int, glyphs: Mapping[str, str]) -> Line:
    step = row.node.step
    phase, style = str(step.phase), STYLES.get(str(step.phase), "")
    indent = "  " * row.depth
    name = _short(step.name, names - len(indent))
    took = span(step.duration) if step.duration is not None else ""
    tried = f"  {_attempt(row.node):<{attempts}}" if attempts else ""
    note = _note(row.node)
    last_line = printable(row.node.last_line.strip())
    parts = [
        Part(f"  {indent}"),
        Part(f"{glyphs.get(phase, '?')} ", style),
        Part(f"{name:<{names - len(indent)}}  "),
        Part(f"{phase:<{PHASE_WIDTH}}", style),
        Part(f"  {took:>{SPAN_WIDTH}}{tried}  "),
    ]
    if row.node.is_active and last_line:
        parts.append(Part(last_line, FAINT))
    elif note:
        parts.append(Part(printable(note), "red" if row.node.has_failed else FAINT))
    return tuple(parts)


def _note(node: Node) -> str:
    """The explanation of a step, in short if it has an exit code: the summary has the full text."""
    step = node.step
    if step.phase is StepPhase.FAILED and step.exit_code is not None:
        forgiven = "; forgiven" if step.failure_ignored else ""
        return f"{step.reason}: exit code {step.exit_code}{forgiven}"
    return node.why


def _attempt(node: Node) -> str:
    """`2/3` for steps with several attempts."""
    return f"{node.step.attempt}/{node.allowed}" if node.allowed > 1 and node.step.attempt else ""


def _short(text: str, room: int) -> str:
    return text if len(text) <= room else text[: max(room - 1, 1)] + "…"


def _cut(line: Line, width: int) -> Line:
    parts: list[Part] = []
    left = width
    for part in line:
        if len(part.text) > left:
            parts.append(Part(_short(part.text, left) if left else "", part.style))
            break
        parts.append(part)
        left -= len(part.text)
    return tuple(parts)


TIME_WIDTH: Final = 7


def plain_lines(before: Tree | None, after: Tree) -> list[str]:
    """A line for every transition since `before`, by time. The end of the run is part of the summary."""
    known = {path: _state(node) for path, _, node in each_node(before)} if before else {}
    transitions: list[tuple[datetime, str]] = []
    for path, _, node in each_node(after):
        if _is_reported(node) and known.get(path) != _state(node):
            transitions.append((_transition_time(node, after.at), _line(path, node)))
    lines = [f"{_since(after, at)}  {text}" for at, text in sorted(transitions, key=lambda item: item[0])]
    return [*_silence_lines(before, after), *_run_lines(before, after), *lines]


def _silence_lines(before: Tree | None, after: Tree) -> list[str]:
    was_silent = bool(before and before.silence)
    if bool(after.silence) == was_silent:
        return []
    message = "the API responds again" if was_silent else "the API does not respond; waiting for it"
    return [f"{_since(after, after.at)}  {message}"]


def _run_lines(before: Tree | None, after: Tree) -> list[str]:
    row = after.row
    if row.phase in TERMINAL or (before is not None and _run_state(before) == _run_state(after)):
        return []
    is_worth = row.phase is not Phase.PENDING or row.message
    why = f": {why_of(row)}" if row.phase is not Phase.RUNNING and row.message else ""
    at = row.started_at if row.phase is Phase.RUNNING and row.started_at else after.at
    return [printable(f"{_since(after, at)}  {row.name} {row.phase}{why}")] if is_worth else []


def _run_state(tree: Tree) -> tuple[str, str]:
    return str(tree.row.phase), tree.row.reason if tree.row.phase is Phase.PENDING else ""


def _state(node: Node) -> tuple[str, int, str]:
    """The state whose change is a transition; a pending step that changes its reason counts as well."""
    step = node.step
    return str(step.phase), step.attempt, step.reason if step.phase is StepPhase.PENDING else ""


def _is_reported(node: Node) -> bool:
    return node.step.phase is not StepPhase.PENDING or (node.is_active and not node.is_ordinary_wait)


def _transition_time(node: Node, at: datetime) -> datetime:
    step = node.step
    if step.phase in STEP_TERMINAL:
        return step.finished_at or at
    if step.phase is StepPhase.RUNNING and step.attempt == 1:
        return step.started_at or at
    return at


def _since(tree: Tree, at: datetime) -> str:
    """Time since the run started, or since its creation if it has not; the latter has whole seconds only."""
    return f"{span(at - (tree.row.started_at or tree.row.created_at)):>{TIME_WIDTH}}"


def _line(path: str, node: Node) -> str:
    step = node.step
    tried = f" {step.attempt}/{node.allowed}" if node.allowed > 1 and step.attempt else ""
    is_ended = step.phase in STEP_TERMINAL and step.duration is not None
    took = f" in {span(step.duration)}" if is_ended else ""
    why = f": {node.why}" if node.why and step.phase is not StepPhase.RUNNING else ""
    return printable(f"{path} {step.phase}{tried}{took}{why}")


SHOWN_FAILURES: Final = 10
SHOWN_TAILS: Final = 3
TAIL_LINES: Final = 5
_OUTCOMES: Final[Mapping[Phase, str]] = {
    Phase.SUCCEEDED: "succeeded",
    Phase.FAILED: "failed",
    Phase.CANCELLED: "was cancelled",
}


def failures(tree: Tree) -> list[tuple[str, Node]]:
    """The failed steps, innermost: a step whose nested run has failed steps is represented by these."""
    return [
        (path, node)
        for path, _, node in each_node(tree)
        if node.has_failed and not (node.inside and failures(node.inside))
    ]


def summary_lines(tree: Tree, *, tails: Mapping[str, Sequence[str]], options: str = "") -> list[str]:
    """`tails` has the last log lines by the path of a step; `options` are those that suggested commands need."""
    row = tree.row
    took = f" after {span(row.duration)}" if row.duration is not None else ""
    lines = [f"{row.name} {_OUTCOMES.get(row.phase, f'is {row.phase}')}{took}: {_steps(tree)}"]
    at_fault = failures(tree)
    if row.phase is not Phase.SUCCEEDED and row.message and not at_fault:
        lines.append(f"  {why_of(row)}")
    if tree.outputs:
        lines += ["Outputs:", *(f"  {name}={value}" for name, value in tree.outputs.items())]
    if at_fault:
        lines += _failure_lines(at_fault, tails)
    if left := [item for item in tree.left_behind if item.ended_at is None]:
        lines.append("Left behind (may still be running; cleanup continues):")
        lines += [f"  {item.kind} {item.name}" for item in left]
    return [printable(line) for line in [*lines, *_next(tree, at_fault, options)]]


def _steps(tree: Tree) -> str:
    if tree.counts.get("succeeded") == tree.total and tree.total:
        return counted(tree.total, "step")
    return f"{counted(tree.total, 'step')}, {counts_text(tree)}" if tree.total else "no step was started"


def _failure_lines(at_fault: Sequence[tuple[str, Node]], tails: Mapping[str, Sequence[str]]) -> list[str]:
    lines = ["Failed:"]
    for path, node in at_fault[:SHOWN_FAILURES]:
        lines.append(f"  {path}: {node.why}")
        lines += [f"    | {line}" for line in tails.get(path, ())]
    if len(at_fault) > SHOWN_FAILURES:
        lines.append(f"  … {len(at_fault) - SHOWN_FAILURES:,} more")
    return lines


def _next(tree: Tree, at_fault: Sequence[tuple[str, Node]], options: str) -> list[str]:
    name, phase = tree.row.name, tree.row.phase
    if phase not in TERMINAL:
        return [f"Next: jangar watch {name}{options}, jangar cancel {name}{options}"]
    if phase is Phase.SUCCEEDED:
        return [f"Next: jangar logs {name}{options}, jangar describe {name}{options}"]
    step = f" {at_fault[0][0]}" if at_fault else ""
    return [
        "Next:",
        f"  jangar logs {name}{step}{options}",
        f"  jangar explain {name}{options}",
        f"  jangar retry {name}{options}",
    ]
