"""The last lines that work has written, kept in the data directory after its pod is gone (GC-6), never in objects."""

import asyncio
import contextlib
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from jangar.kube.client import Client
from jangar.kube.errors import Ambiguous, ApiError, NotSent, TooManyRequests

TAIL_LINES: Final = 1000
TAIL_BYTES: Final = 256 * 1024
_BETWEEN_TIDYING: Final = 3600.0


class LogTails:
    """Files `<directory>/<namespace>/<uid of the child>.log`."""

    def __init__(self, client: Client, directory: Path, now: Callable[[], datetime]) -> None:
        self._client = client
        self._directory = directory
        self._now = now

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
        except (NotSent, Ambiguous, TooManyRequests):
            raise
        except ApiError as error:
            tail = f"(no log: {error.message})\n".encode()
        await asyncio.to_thread(_write, self.path(namespace, uid), tail)

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
