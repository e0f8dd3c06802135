"""The history database of a process, opened when it is first needed."""

import asyncio
import importlib
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from jangar.settings.shared import DATABASE_URL
from jangar.settings.variables import BadSettings
from jangar.store.history import History
from jangar.store.urls import DatabaseAddress, parse_url


def address_of(url: str) -> DatabaseAddress | None:
    """The database address in the setting, or None if it is unset. Raises BadSettings."""
    if not url:
        return None
    try:
        return parse_url(url)
    except ValueError as error:
        raise BadSettings([f"{DATABASE_URL.name} (value not shown): {error}"]) from None


def opener(address: DatabaseAddress) -> Callable[[], Awaitable[History]]:
    """A function that opens the database. A thread imports SQLAlchemy, which would block the loop."""

    async def open_history() -> History:
        module = await asyncio.to_thread(importlib.import_module, "jangar.store.database_history")
        history: History = module.DatabaseHistory(address)
        return history

    return open_history


def tails_directory(history: DatabaseAddress | None) -> Path | None:
    """A temporary directory for log tails that wait to be stored; None without a history database."""
    return Path(tempfile.mkdtemp(prefix="jangar-")) if history is not None else None
