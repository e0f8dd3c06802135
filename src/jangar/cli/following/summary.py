"""Summary of an ended run: outcome, outputs, failures and suggested commands. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from jangar.api.phases import TERMINAL, Phase
from jangar.cli.following.tree import Node, Tree, each_node, why_of
from jangar.cli.following.tree_lines import counts_text
from jangar.cli.output.spans import span
from jangar.cli.terminal import printable
from jangar.cli.wording import counted

SHOWN_FAILURES: Final = 10
SHOWN_TAILS: Final = 3
TAIL_LINES: Final = 5
_OUTCOMES: Final[Mapping[Phase, str]] = {
    Phase.SUCCEEDED: "succeeded",
    Phase.FAILED: "failed",
    Phase.CANCELLED: "was cancelled",
}


def failures(tree: Tree) -> list[tuple[str, Node]]:
    """The steps at fault, innermost: a step whose own run has failed steps is told by those."""
    return [
        (path, node)
        for path, _, node in each_node(tree)
        if node.has_failed and not (node.inside and failures(node.inside))
    ]


def summary_lines(tree: Tree, *, tails: Mapping[str, Sequence[str]], options: str = "") -> list[str]:
    """`tails` are last lines of the log by the path of a step; `options` is what further commands need."""
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
