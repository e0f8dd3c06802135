"""Which database a process keeps history in, and how it is opened: when there is something to store, not before."""

import asyncio
import importlib
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from jangar.settings import table
from jangar.settings.reading import BadSettings
from jangar.store.history import History
from jangar.store.urls import DatabaseAddress, parse_url


def address_of(url: str) -> DatabaseAddress | None:
    """The database that the settings name, if any. Raises BadSettings."""
    if not url:
        return None
    try:
        return parse_url(url)
    except ValueError as error:
        raise BadSettings([f"{table.DATABASE_URL.name} (its value is not shown): {error}"]) from None


def opener(address: DatabaseAddress) -> Callable[[], Awaitable[History]]:
    """What opens it. What knows SQL is heavy to import: a thread does it, beside whatever runs."""

    async def opened() -> History:
        module = await asyncio.to_thread(importlib.import_module, "jangar.store.database_history")
        history: History = module.DatabaseHistory(address)
        return history

    return opened


def tails_directory(history: DatabaseAddress | None) -> Path | None:
    """Where the last lines of logs wait to be stored, in a process without a directory of its own."""
    return Path(tempfile.mkdtemp(prefix="jangar-")) if history is not None else None
