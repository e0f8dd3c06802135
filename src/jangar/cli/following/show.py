"""Follows a run until it ends and prints the summary, for `jangar run` and `jangar watch`."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jangar.cli.exit_codes import ExitCode
from jangar.cli.following.follow import Follow, Followed, Left, exit_code
from jangar.cli.following.log_text import line_text
from jangar.cli.following.screens import screen
from jangar.cli.following.summary import SHOWN_TAILS, TAIL_LINES, failures, summary_lines
from jangar.cli.following.tree import Seen, Tree
from jangar.cli.target import Target, local_data_directory, options_of
from jangar.cli.terminal import columns, folded, write_error, write_lines
from jangar.operations.step_logs import log_sources
from kubekit.client.errors import ApiError

READ_LINES: Final = 20
"""Lines of a failed step that are looked through: events of agents need not have text."""

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from kubekit.client.api_client import Obj


async def follow_to_end(session: "Session", obj: "Obj", target: Target, *, seconds: float | None) -> ExitCode:
    """The exit code that says how it ended."""
    meta = obj["metadata"]
    options = options_of(target, meta["namespace"] if meta["namespace"] != session.namespace else "")
    there = replace(session, namespace=meta["namespace"])
    followed = await Follow(there, obj, screen()).to_the_end(seconds=seconds)
    if followed.left is Left.OVER and followed.tree is not None and followed.seen is not None:
        tails = await _tails(there, followed.seen, followed.tree, target)
        lines = summary_lines(followed.tree, tails=tails, options=options)
        outcome = folded(lines[0], columns()) if sys.stdout.isatty() else lines[:1]
        write_lines([*outcome, *lines[1:]])
    else:
        write_error(_still_running_message(followed, meta["name"], options, seconds))
    return exit_code(followed)


def _still_running_message(followed: Followed, name: str, options: str, seconds: float | None) -> str:
    why = f"timed out after {seconds:g} s; " if followed.left is Left.TIMED_OUT else ""
    return (
        f"{why}{name} keeps running: jangar watch {name}{options} follows it again, "
        f"jangar cancel {name}{options} cancels it"
    )


async def _tails(session: "Session", seen: Seen, tree: Tree, target: Target) -> dict[str, list[str]]:
    """The last lines of some failed steps. An extra: what cannot be read is left out."""
    logs = session.logs(tails_of(target))
    found = [source for path, _ in failures(tree)[:SHOWN_TAILS] for source in log_sources(seen, path, None)]
    try:
        return {log.source.path: _readable(log.lines) async for log in logs.read_all(found, READ_LINES)}
    except ApiError:
        return {}


def _readable(lines: Sequence[str]) -> list[str]:
    """The last lines that say something to a person."""
    return [text for line in lines if (text := line_text(line))][-TAIL_LINES:]


def tails_of(target: Target) -> Path | None:
    """Where the laptop keeps the ends of logs; None for any other API."""
    place = local_data_directory(target)
    return place.directory / "log-tails" if place else None
