"""Polls the last log line of each active step while a run is followed."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from jangar.cli.following.log_text import is_json, last_text
from jangar.cli.following.tree import Tree, each_node
from jangar.controllers.resources import CHILD_UID
from kubekit.client.builtin import PODS
from kubekit.client.errors import ApiError

if TYPE_CHECKING:
    from jangar.cli.api_session import Session

MAX_COUNT: Final = 30
"""Steps asked about at once: more do not fit a screen."""
ASK_SECONDS: Final = 0.7
MAX_LENGTH: Final = 4096
EVENT_LINES: Final = 20
"""Lines that are read where the last one is a JSON event: the newest one with text may be some lines up."""
MAX_EVENTS_LENGTH: Final = 256 * 1024


class LastLines:
    """By the uid of the child. Whatever cannot be read is left out: it is an extra."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._lines: dict[str, str] = {}
        self._wanted: Sequence[str] = ()
        self._pods: dict[str, str] = {}

    @property
    def lines(self) -> Mapping[str, str]:
        return self._lines

    def want(self, tree: Tree) -> None:
        """What runs now."""
        active = [
            node.child_uid
            for _, _, node in each_node(tree)
            if node.is_active and node.inside is None and node.child_uid
        ]
        self._wanted = active[:MAX_COUNT]

    async def ask(self) -> None:
        """Again and again, until cancelled."""
        while True:
            await asyncio.gather(*(self._ask(uid) for uid in self._wanted))
            await asyncio.sleep(ASK_SECONDS)

    async def _ask(self, uid: str) -> None:
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
