"""The last lines that work has written, kept in the data directory after its pod is gone (GC-6), never in objects.

Values of the Secrets that the work was given are masked; a tail that cannot be masked is not kept.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from jangar.controllers.history.masking import masked, referenced_secrets, secret_values
from jangar.kube.builtin import PODS, SECRETS
from jangar.kube.cache import Cache
from jangar.kube.client import Client, Obj
from jangar.kube.errors import Ambiguous, ApiError, NotFound, NotSent, TooManyRequests

TAIL_LINES: Final = 1000
TAIL_BYTES: Final = 256 * 1024
_BETWEEN_TIDYING: Final = 3600.0


class LogTails:
    """Files `<directory>/<namespace>/<uid of the child>.log`."""

    def __init__(
        self,
        client: Client,
        directory: Path,
        now: Callable[[], datetime],
        *,
        pods: Cache | None = None,
        on_kept: Callable[[str, str], None] = lambda _namespace, _uid: None,
    ) -> None:
        """`pods` tell which Secrets work was given; `on_kept` is told namespace and uid of every tail."""
        self._client = client
        self._directory = directory
        self._now = now
        self._pods = pods
        self.on_kept = on_kept

    def has(self, namespace: str, uid: str) -> bool:
        return self.path(namespace, uid).exists()

    def path(self, namespace: str, uid: str) -> Path:
        return self._directory / namespace / f"{uid}.log"

    async def keep(self, *, namespace: str, uid: str, pod: str, container: str) -> None:
        """Store the tail. Logs that cannot be read are stored as the reason why, unless it is the API server itself
        that cannot be reached now.
        """
        try:
            tail = await self._client.logs(
                pod, namespace, container=container, tail_lines=TAIL_LINES, limit_bytes=TAIL_BYTES
            )
            tail = masked(tail, await self._secrets(namespace, pod))
        except (NotSent, Ambiguous, TooManyRequests):
            raise
        except ApiError as error:
            tail = f"(no log: {error.message})\n".encode()
        await asyncio.to_thread(_write, self.path(namespace, uid), tail)
        self.on_kept(namespace, uid)

    async def read(self, namespace: str, uid: str) -> str | None:
        """The tail, if it is kept."""
        try:
            content = await asyncio.to_thread(self.path(namespace, uid).read_bytes)
        except FileNotFoundError:
            return None
        return content.decode(errors="replace")

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
            await asyncio.to_thread(self.delete_older, self._now() - keep)
            await asyncio.sleep(_BETWEEN_TIDYING)

    def delete_older(self, moment: datetime) -> None:
        """Delete the tails that were stored before."""
        for path in self._directory.glob("*/*.log"):
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < moment.timestamp():
                    path.unlink()


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all: the file's being there says that it is kept."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_suffix(".part")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    temporary.replace(path)
