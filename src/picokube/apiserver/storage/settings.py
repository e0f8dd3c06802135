"""What can be set about a store. Nothing here changes what is promised, only what it costs."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """How much is kept in memory, how long others are waited for, and who commits."""

    inline: bool = False
    """Commit on the event loop instead of in a thread: the same order every time, for simulations."""
    batch_changes: int = 256
    """At most so many changes share a transaction."""
    history_events: int = 8192
    history_bytes: int = 8 * 1024 * 1024
    """Newest events kept in memory, so that watches rarely read the file."""
    watch_queue_events: int = 4096
    """A watcher with more events waiting is dropped."""
    heartbeat: timedelta | None = timedelta(seconds=10)
    """A quiet watch says so this often."""
    catch_up_lease: timedelta = timedelta(seconds=30)
    """So long may a watch that still reads old history hold compaction back."""
    prune_rows: int = 256
    """Compaction walks so many rows in a transaction."""
    release_pages: int = 256
    """Compaction gives so many free pages back to the file system in a transaction."""
    spare_pages: int = 256
    """So many free pages stay in the file for the next changes."""
