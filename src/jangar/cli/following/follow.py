"""Following one run to its end, a deadline, or the moment when the user has seen enough."""

import asyncio
import contextlib
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Final

from jangar.api.phases import Phase
from jangar.cli.exit_codes import ExitCode
from jangar.cli.following.interrupts import Interrupts, Wish
from jangar.cli.following.last_log_lines import LastLines
from jangar.cli.following.run_watcher import watch_run
from jangar.cli.following.screens import Screen
from jangar.cli.following.tree import Seen, Tree, tree_of
from jangar.operations.caller import RunRef
from jangar.operations.refusals import Refused
from jangar.operations.run_control import cancel_run

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from kubekit.client.api_client import Obj


class Left(Enum):
    """How following ended."""

    OVER = "over"
    DETACHED = "detached"
    TIMED_OUT = "timed out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """The last look, and why it was the last."""

    left: Left
    tree: Tree | None
    seen: Seen | None


CODES: Final = {
    Phase.SUCCEEDED: ExitCode.OK,
    Phase.FAILED: ExitCode.FAILED,
    Phase.CANCELLED: ExitCode.CANCELLED,
}


def exit_code(followed: Followed) -> ExitCode:
    """The outcome of a run as a shell sees it."""
    match followed.left:
        case Left.TIMED_OUT:
            return ExitCode.TIMEOUT
        case Left.DETACHED:
            return ExitCode.INTERRUPTED
        case Left.OVER:
            return CODES[followed.tree.row.phase] if followed.tree else ExitCode.FAILED


class Follow:
    """One run on one screen."""

    def __init__(self, session: "Session", obj: "Obj", screen: Screen) -> None:
        self._session = session
        self._obj = obj
        self._screen = screen
        self._last = LastLines(session)
        self._tree: Tree | None = None
        self._seen: Seen | None = None

    async def to_the_end(self, *, seconds: float | None) -> Followed:
        """Until the run is over, the time is, or the user leaves."""
        watching = asyncio.ensure_future(self._watch())
        asking = asyncio.ensure_future(self._last.ask()) if self._screen.shows_last_lines else None
        loop = asyncio.get_running_loop()
        deadline = None if seconds is None else loop.time() + seconds
        try:
            with Interrupts().heard() as interrupts:
                while True:
                    left = await self._left(watching, interrupts, deadline)
                    if left is not None:
                        return Followed(left=left, tree=self._tree, seen=self._seen)
        finally:
            for task in (watching, asking):
                if task is not None:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
            self._screen.close()

    async def _left(
        self, watching: "asyncio.Future[None]", interrupts: Interrupts, deadline: float | None
    ) -> Left | None:
        """Why following ends; None if it goes on."""
        loop = asyncio.get_running_loop()
        interrupted = asyncio.ensure_future(interrupts.next())
        timeout = None if deadline is None else max(deadline - loop.time(), 0)
        await asyncio.wait({watching, interrupted}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            interrupted.cancel()
            watching.result()
            return Left.OVER
        if not interrupted.done():
            interrupted.cancel()
            return Left.TIMED_OUT
        self._screen.pause()
        match await interrupts.wish():
            case Wish.DETACH:
                return Left.DETACHED
            case Wish.CANCEL:
                await self._cancel()
            case Wish.GO_ON:
                pass
        self._screen.go_on()
        return None

    async def _cancel(self) -> None:
        """Cancel this very run; nothing to do if it was deleted and a later run has its name."""
        meta = self._obj["metadata"]
        ref = RunRef(namespace=meta["namespace"], name=meta["name"], uid=meta["uid"])
        with contextlib.suppress(Refused):
            await cancel_run(self._session.caller, ref)

    async def _watch(self) -> None:
        async with aclosing(watch_run(self._session, self._obj, tick=self._screen.tick)) as found:
            async for seen in found:
                self._show(seen)

    def _show(self, seen: Seen) -> None:
        self._seen = seen
        self._tree = tree_of(seen, now=datetime.now(UTC), said=self._last.lines)
        self._last.want(self._tree)
        self._screen.show(self._tree)
