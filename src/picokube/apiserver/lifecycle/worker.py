"""What controllers inside the server share: a queue worker that retries, and errors that need no retry."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from picokube.apiserver.protocol import errors
from picokube.apiserver.storage.store import ChangeFailed, Closed

log = logging.getLogger(__name__)

Item = TypeVar("Item")


@contextmanager
def ignoring(*reasons: str) -> Iterator[None]:
    """Suppress API errors with these reasons: another writer was faster."""
    try:
        yield
    except errors.ApiError as error:
        if error.reason not in reasons:
            raise


async def work(
    queue: asyncio.Queue[Item],
    handle: Callable[[Item], Awaitable[None]],
    retry: Callable[[Item], None],
    *,
    task: str,
) -> None:
    """Handle queued items until cancelled, or until the store is closed. `task` names the work in the log."""
    while True:
        item = await queue.get()
        try:
            with ignoring("NotFound", "Conflict", "AlreadyExists"):
                await handle(item)
        except Closed:
            return
        except (errors.ApiError, ChangeFailed, OSError) as error:
            # Only names: the objects of committed writes may be Secrets.
            name = item if isinstance(item, str) else getattr(item, "name", "")
            log.warning("work postponed", extra={"task": task, "object": name, "reason": str(error)})
            retry(item)
