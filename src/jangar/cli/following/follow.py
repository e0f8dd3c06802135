"""Follows a run until it ends, a deadline passes or the user leaves, and prints the summary."""

import asyncio
import contextlib
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jangar.api.phases import Phase
from jangar.cli.exit_codes import ExitCode
from jangar.cli.following.log_text import is_json, last_text, line_text
from jangar.cli.following.rendering import SHOWN_TAILS, TAIL_LINES, failures, summary_lines
from jangar.cli.following.run_watcher import watch_run
from jangar.cli.following.screens import Choice, Interrupts, Screen, screen
from jangar.cli.following.tree import RunSnapshot, Tree, each_node, tree_of
from jangar.cli.target import Target, local_data_directory, options_of
from jangar.cli.terminal import columns, folded, write_error, write_lines
from jangar.controllers.resources import CHILD_UID
from jangar.operations.caller import RunRef
from jangar.operations.refusals import Refused
from jangar.operations.run_control import cancel_run
from jangar.operations.step_logs import log_sources
from kubekit.client.builtin import PODS
from kubekit.client.errors import ApiError

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from kubekit.client.api_client import Obj

MAX_COUNT: Final = 30
"""Steps that are polled at once: more do not fit on a screen."""
POLL_SECONDS: Final = 0.7
MAX_LENGTH: Final = 4096
EVENT_LINES: Final = 20
"""Lines that are read if the last one is a JSON event: the newest one with text may be some lines above."""
MAX_EVENTS_LENGTH: Final = 256 * 1024
READ_LINES: Final = 20
"""Lines of a failed step that are read to find some with text: events of agents may have none."""


class LastLines:
    """Polls the last log line of each active step, by the uid of its child. Lines that cannot be read are missing."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._lines: dict[str, str] = {}
        self._selected: Sequence[str] = ()
        self._pods: dict[str, str] = {}

    @property
    def lines(self) -> Mapping[str, str]:
        return self._lines

    def select(self, tree: Tree) -> None:
        """Poll the active steps of this tree from now on."""
        active = [
            node.child_uid
            for _, _, node in each_node(tree)
            if node.is_active and node.inside is None and node.child_uid
        ]
        self._selected = active[:MAX_COUNT]

    async def poll(self) -> None:
        """Poll until cancelled."""
        while True:
            await asyncio.gather(*(self._poll_step(uid) for uid in self._selected))
            await asyncio.sleep(POLL_SECONDS)

    async def _poll_step(self, uid: str) -> None:
        client, namespace = self._session.client, self._session.namespace
        with contextlib.suppress(ApiError):
            if uid not in self._pods:
                pods = await client.list(PODS, namespace, labels=f"{CHILD_UID}={uid}")
                if not pods:
                    return
                self._pods[uid] = pods[-1]["metadata"]["name"]
            lines = await self._tail(uid, 1, MAX_LENGTH)
            if lines and is_json(lines[-1]):
                lines = await self._tail(uid, EVENT_LINES, MAX_EVENTS_LENGTH)
            if line := last_text(lines):
                self._lines[uid] = line

    async def _tail(self, uid: str, lines: int, size: int) -> list[str]:
        text = await self._session.client.logs(
            self._pods[uid], self._session.namespace, tail_lines=lines, limit_bytes=size
        )
        return text.decode(errors="replace").strip().splitlines()


class FollowEnd(Enum):
    """Why following ended."""

    OVER = "over"
    DETACHED = "detached"
    TIMED_OUT = "timed out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """The last state that was shown, and why following ended."""

    end: FollowEnd
    tree: Tree | None
    snapshot: RunSnapshot | None


CODES: Final = {
    Phase.SUCCEEDED: ExitCode.OK,
    Phase.FAILED: ExitCode.FAILED,
    Phase.CANCELLED: ExitCode.CANCELLED,
}


def exit_code(followed: Followed) -> ExitCode:
    """The exit code for the outcome of a run."""
    match followed.end:
        case FollowEnd.TIMED_OUT:
            return ExitCode.TIMEOUT
        case FollowEnd.DETACHED:
            return ExitCode.INTERRUPTED
        case FollowEnd.OVER:
            return CODES[followed.tree.row.phase] if followed.tree else ExitCode.FAILED


class Follow:
    """Follows one run on one screen."""

    def __init__(self, session: "Session", obj: "Obj", screen: Screen) -> None:
        self._session = session
        self._obj = obj
        self._screen = screen
        self._last_lines = LastLines(session)
        self._tree: Tree | None = None
        self._snapshot: RunSnapshot | None = None

    async def to_the_end(self, *, seconds: float | None) -> Followed:
        """Follow until the run ends, the time is up, or the user detaches."""
        watching = asyncio.ensure_future(self._watch())
        polling = asyncio.ensure_future(self._last_lines.poll()) if self._screen.shows_last_lines else None
        loop = asyncio.get_running_loop()
        deadline = None if seconds is None else loop.time() + seconds
        try:
            with Interrupts().handling() as interrupts:
                while True:
                    end = await self._next_end(watching, interrupts, deadline)
                    if end is not None:
                        return Followed(end=end, tree=self._tree, snapshot=self._snapshot)
        finally:
            for task in (watching, polling):
                if task is not None:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
            self._screen.close()

    async def _next_end(
        self, watching: "asyncio.Future[None]", interrupts: Interrupts, deadline: float | None
    ) -> FollowEnd | None:
        """Wait for the next event; returns why following ends, or None if it continues."""
        loop = asyncio.get_running_loop()
        interrupted = asyncio.ensure_future(interrupts.next())
        timeout = None if deadline is None else max(deadline - loop.time(), 0)
        await asyncio.wait({watching, interrupted}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            interrupted.cancel()
            watching.result()
            return FollowEnd.OVER
        if not interrupted.done():
            interrupted.cancel()
            return FollowEnd.TIMED_OUT
        self._screen.pause()
        match await interrupts.choice():
            case Choice.DETACH:
                return FollowEnd.DETACHED
            case Choice.CANCEL:
                await self._cancel()
            case Choice.KEEP_WATCHING:
                pass
        self._screen.resume()
        return None

    async def _cancel(self) -> None:
        """Cancel this very run; nothing to do if it was deleted and a later run has its name."""
        meta = self._obj["metadata"]
        ref = RunRef(namespace=meta["namespace"], name=meta["name"], uid=meta["uid"])
        with contextlib.suppress(Refused):
            await cancel_run(self._session.caller, ref)

    async def _watch(self) -> None:
        async with aclosing(watch_run(self._session, self._obj, tick=self._screen.tick)) as snapshots:
            async for snapshot in snapshots:
                self._show(snapshot)

    def _show(self, snapshot: RunSnapshot) -> None:
        self._snapshot = snapshot
        self._tree = tree_of(snapshot, now=datetime.now(UTC), last_lines=self._last_lines.lines)
        self._last_lines.select(self._tree)
        self._screen.show(self._tree)


async def follow_to_end(session: "Session", obj: "Obj", target: Target, *, seconds: float | None) -> ExitCode:
    """Follow the run, print its summary and return the exit code for its outcome."""
    meta = obj["metadata"]
    options = options_of(target, meta["namespace"] if meta["namespace"] != session.namespace else "")
    there = replace(session, namespace=meta["namespace"])
    followed = await Follow(there, obj, screen()).to_the_end(seconds=seconds)
    if followed.end is FollowEnd.OVER and followed.tree is not None and followed.snapshot is not None:
        tails = await _tails(there, followed.snapshot, followed.tree, target)
        lines = summary_lines(followed.tree, tails=tails, options=options)
        outcome = folded(lines[0], columns()) if sys.stdout.isatty() else lines[:1]
        write_lines([*outcome, *lines[1:]])
    else:
        write_error(_still_running_message(followed, meta["name"], options, seconds))
    return exit_code(followed)


def _still_running_message(followed: Followed, name: str, options: str, seconds: float | None) -> str:
    why = f"timed out after {seconds:g} s; " if followed.end is FollowEnd.TIMED_OUT else ""
    return (
        f"{why}{name} keeps running: jangar watch {name}{options} follows it again, "
        f"jangar cancel {name}{options} cancels it"
    )


async def _tails(
    session: "Session", snapshot: RunSnapshot, tree: Tree, target: Target
) -> dict[str, list[str]]:
    """The last log lines of some failed steps; empty if they cannot be read."""
    logs = session.logs(tails_of(target))
    selected = [
        source for path, _ in failures(tree)[:SHOWN_TAILS] for source in log_sources(snapshot, path, None)
    ]
    try:
        return {log.source.path: _readable(log.lines) async for log in logs.read_all(selected, READ_LINES)}
    except ApiError:
        return {}


def _readable(lines: Sequence[str]) -> list[str]:
    """The text of the last lines that have any."""
    return [text for line in lines if (text := line_text(line))][-TAIL_LINES:]


def tails_of(target: Target) -> Path | None:
    """The directory in which the laptop keeps log tails; None for any other API."""
    data = local_data_directory(target)
    return data.directory / "log-tails" if data else None
