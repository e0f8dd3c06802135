"""A tree as the lines of a screen: everything where it fits, else counts and what runs or failed. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from jangar.api.phases import TERMINAL, Phase, StepPhase
from jangar.cli.following.tree import Node, Tree, each_node, why_of
from jangar.cli.output.spans import span
from jangar.cli.terminal import printable

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
    """Some text of a line in one style; none is the terminal's own."""

    text: str
    style: str = ""


Line = tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What a screen has room for; without a height everything is shown."""

    width: int
    height: int | None = None


class _Row(NamedTuple):
    depth: int
    node: Node


def tree_lines(tree: Tree, size: Size, glyphs: Mapping[str, str] = GLYPHS) -> list[Line]:
    """The run, then a line a step."""
    rows = [_Row(depth, node) for _, depth, node in each_node(tree)]
    lines = [_head(tree, glyphs)]
    if note := _run_note(tree):
        lines.append((Part("  "), Part(note, "yellow")))
    room = None if size.height is None else max(size.height - len(lines) - 1, MIN_ROOM)
    if room is not None and len(rows) > room:
        # One line for the counts, one for what is left out.
        shown = _most_relevant(rows, room - 2)
        lines.append((Part("  "), Part(counts_text(tree), FAINT)))
        lines += _table(shown, size.width, glyphs)
        if left_out := _left_out(rows, shown):
            lines.append((Part("  "), Part(f"… {left_out}", FAINT)))
    else:
        lines += _table(rows, size.width, glyphs)
    return [_cut(line, size.width) for line in lines]


def counts_text(tree: Tree) -> str:
    """`3 failed, 12 running, 400 succeeded`. Of those that are pending, how many have been started already."""
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
    """Why a run does not go on. How it ended is the summary's."""
    row = tree.row
    if tree.silence:
        return f"the API has not answered for {span(tree.silence)}; this may be out of date"
    if row.phase in TERMINAL | {Phase.RUNNING} or not row.message:
        return ""
    return printable(why_of(row))


def _most_relevant(rows: Sequence[_Row], room: int) -> list[_Row]:
    """What failed and what goes on, at least half of the room for each that needs it, in the tree's order."""
    failed = [at for at, row in enumerate(rows) if row.node.has_failed]
    active = [at for at, row in enumerate(rows) if _goes_on(row.node)]
    for_failed = max(room // 2, room - len(active))
    chosen = failed[:for_failed]
    chosen += active[: max(room - len(chosen), 0)]
    return [rows[at] for at in sorted(chosen)]


def _goes_on(node: Node) -> bool:
    """Active, and not just about to start: a big run can have hundreds that wait for a place on the machine."""
    return node.is_active and (bool(node.said) or not node.is_ordinary_wait)


def _left_out(rows: Sequence[_Row], shown: Sequence[_Row]) -> str:
    """`20 more running, 3 more failed`: of those kinds that are shown at all."""
    total, reported = _kinds(rows), _kinds(shown)
    return ", ".join(
        f"{total[kind] - reported[kind]:,} more {kind}" for kind in total if total[kind] > reported[kind]
    )


def _kinds(rows: Iterable[_Row]) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in rows:
        if row.node.has_failed:
            found["failed"] += 1
        elif _goes_on(row.node):
            found["running"] += 1
    return found


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
    said = printable(row.node.said.strip())
    parts = [
        Part(f"  {indent}"),
        Part(f"{glyphs.get(phase, '?')} ", style),
        Part(f"{name:<{names - len(indent)}}  "),
        Part(f"{phase:<{PHASE_WIDTH}}", style),
        Part(f"  {took:>{SPAN_WIDTH}}{tried}  "),
    ]
    if row.node.is_active and said:
        parts.append(Part(said, FAINT))
    elif note:
        parts.append(Part(printable(note), "red" if row.node.has_failed else FAINT))
    return tuple(parts)


def _note(node: Node) -> str:
    """Why, in short where an exit code says it: a line has little room, and the summary tells the rest."""
    step = node.step
    if step.phase is StepPhase.FAILED and step.exit_code is not None:
        forgiven = "; forgiven" if step.failure_ignored else ""
        return f"{step.reason}: exit code {step.exit_code}{forgiven}"
    return node.why


def _attempt(node: Node) -> str:
    """`2/3`, for steps that may have several."""
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
