"""The last lines that work has written, kept in the data directory after its pod is gone (GC-6), never in objects.

Values of the Secrets that the work was given are masked; a tail that cannot be masked is not kept.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from jangar.controllers.history.masking import masked, referenced_secrets, secret_values
from jangar.controllers.kept_logs import KeptLogs
from jangar.store.rows import LogPart
from kubekit.cache.object_cache import Cache
from kubekit.client.api_client import Client, Obj
from kubekit.client.builtin import PODS, SECRETS
from kubekit.client.errors import Ambiguous, ApiError, NotFound, NotSent, TooManyRequests

OnKept: TypeAlias = Callable[[str, str, bool], None]
"""Told namespace and uid of the work of every tail, and whether it is of one Job among several."""

TAIL_LINES: Final = 1000
TAIL_BYTES: Final = 256 * 1024
READ_BYTES: Final = 4 * 1024 * 1024
CUT: Final = b"... earlier lines are not kept: of a log the last 1,000 lines are, at most 256 KiB of them\n"
_BETWEEN_TIDYING: Final = 3600.0


def cut_tail(tail: bytes, *, is_cut: bool) -> bytes:
    """The end that is kept, from the beginning of a line on. Its first line says so if anything is missing."""
    if len(tail) > TAIL_BYTES:
        end = tail[-TAIL_BYTES:]
        _, line_end, rest = end.partition(b"\n")
        tail, is_cut = rest if line_end and rest else end, True
    return CUT + tail if is_cut else tail


class LogTails:
    """Asks for logs, and keeps them in the files of `KeptLogs`."""

    def __init__(
        self,
        client: Client,
        directory: Path,
        now: Callable[[], datetime],
        *,
        pods: Cache | None = None,
        on_kept: OnKept = lambda _namespace, _uid, _is_part: None,
    ) -> None:
        """`pods` tell which Secrets work was given."""
        self._client = client
        self._now = now
        self._pods = pods
        self.files = KeptLogs(directory)
        self.on_kept = on_kept

    async def keep(
        self, *, namespace: str, uid: str, pod: str, container: str, job: str = "", title: str = ""
    ) -> None:
        """Store the tail; with a title, as that of one Job among several. Logs that cannot be read are stored as the
        reason why, unless it is the API server itself that cannot be reached now.
        """
        try:
            tail, is_cut = await self._tail(namespace, pod, container)
            secrets = await self._secrets(namespace, pod)
            tail = cut_tail(await asyncio.to_thread(masked, tail, secrets), is_cut=is_cut)
        except (NotSent, Ambiguous, TooManyRequests):
            raise
        except ApiError as error:
            tail = f"(no log: {error.message})\n".encode()
        if is_part := bool(title):
            keep_one = partial(self.files.keep_one, job=job, title=title, content=tail)
            await asyncio.to_thread(keep_one, namespace, uid)
        else:
            await asyncio.to_thread(self.files.keep, namespace, uid, tail)
        self.on_kept(namespace, uid, is_part)

    async def _tail(self, namespace: str, pod: str, container: str) -> tuple[bytes, bool]:
        """The last lines, and whether there were more. A limit in bytes keeps the first of them, so lines that
        reach it are asked for again, fewer of them.
        """
        lines, tail = TAIL_LINES, b""
        while lines:
            tail = await self._client.logs(
                pod, namespace, container=container, tail_lines=lines + 1, limit_bytes=READ_BYTES
            )
            if len(tail) < READ_BYTES:
                whole = tail.splitlines(keepends=True)
                return b"".join(whole[-lines:]), len(whole) > lines or lines < TAIL_LINES
            lines //= 10
        return tail, True

    async def read(self, namespace: str, uid: str) -> str | None:
        """The tails, if any is kept."""
        content = await asyncio.to_thread(self.files.read, namespace, uid)
        return content.decode(errors="replace") if content is not None else None

    async def parts(self, namespace: str, uid: str) -> list[LogPart]:
        """The tails of Jobs among several, the oldest first."""
        found = await asyncio.to_thread(self.files.parts, namespace, uid)
        return [LogPart(job=job, text=text.decode(errors="replace")) for job, text in found]

    async def _secrets(self, namespace: str, pod: str) -> list[bytes]:
        """What must not be read in the log. Raises ApiError if that cannot be known any more."""
        if self._pods is None:
            return []
        values: list[bytes] = []
        for name, is_optional in referenced_secrets(await self._pod(self._pods, namespace, pod)):
            try:
                values += secret_values(await self._client.get(SECRETS, name, namespace))
            except NotFound:
                if not is_optional:
                    raise
        return values

    async def _pod(self, pods: Cache, namespace: str, name: str) -> Obj:
        cached = pods.get(namespace, name)
        return cached.view if cached is not None else await self._client.get(PODS, name, namespace)

    async def tidy(self, keep: timedelta) -> None:
        """Delete what is older, once an hour, until cancelled."""
        while True:
            await asyncio.to_thread(self.files.delete_older, self._now() - keep)
            await asyncio.sleep(_BETWEEN_TIDYING)
