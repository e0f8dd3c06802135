"""What happened to a run between two looks, a line each: for pipes, CI logs and dumb terminals. Pure."""

from datetime import datetime
from typing import Final

from jangar.api.phases import STEP_TERMINAL, TERMINAL, Phase, StepPhase
from jangar.cli.following.tree import Node, Tree, each_node, why_of
from jangar.cli.output.spans import span
from jangar.cli.terminal import printable

TIME_WIDTH: Final = 7


def plain_lines(before: Tree | None, after: Tree) -> list[str]:
    """Every transition since `before`, in the order of the moments; the end of the run itself is the summary's."""
    known = {path: _state(node) for path, _, node in each_node(before)} if before else {}
    reported: list[tuple[datetime, str]] = []
    for path, _, node in each_node(after):
        if _is_reported(node) and known.get(path) != _state(node):
            reported.append((_moment(node, after.at), _line(path, node)))
    lines = [f"{_since(after, at)}  {text}" for at, text in sorted(reported, key=lambda item: item[0])]
    return [*_silence_lines(before, after), *_run_lines(before, after), *lines]


def _silence_lines(before: Tree | None, after: Tree) -> list[str]:
    was_silent = bool(before and before.silence)
    if bool(after.silence) == was_silent:
        return []
    said = "the API answers again" if was_silent else "the API does not answer; waiting for it to come back"
    return [f"{_since(after, after.at)}  {said}"]


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
    """What a change of is a transition; a wait that changes its reason is one too."""
    step = node.step
    return str(step.phase), step.attempt, step.reason if step.phase is StepPhase.PENDING else ""


def _is_reported(node: Node) -> bool:
    return node.step.phase is not StepPhase.PENDING or (node.is_active and not node.is_ordinary_wait)


def _moment(node: Node, at: datetime) -> datetime:
    step = node.step
    if step.phase in STEP_TERMINAL:
        return step.finished_at or at
    if step.phase is StepPhase.RUNNING and step.attempt == 1:
        return step.started_at or at
    return at


def _since(tree: Tree, at: datetime) -> str:
    """Since the run started; before that, since it was made, of which only the second is known."""
    return f"{span(at - (tree.row.started_at or tree.row.created_at)):>{TIME_WIDTH}}"


def _line(path: str, node: Node) -> str:
    step = node.step
    tried = f" {step.attempt}/{node.allowed}" if node.allowed > 1 and step.attempt else ""
    is_ended = step.phase in STEP_TERMINAL and step.duration is not None
    took = f" in {span(step.duration)}" if is_ended else ""
    why = f": {node.why}" if node.why and step.phase is not StepPhase.RUNNING else ""
    return printable(f"{path} {step.phase}{tried}{took}{why}")
