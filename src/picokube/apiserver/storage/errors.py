"""What can go wrong with any store, beyond what its interface names.

StorageError
├── CannotOpen          the data cannot be used
│   ├── InUse           another process owns it
│   ├── WrongSchema     it is no store, or one of another version
│   └── Corrupt         it is damaged (also raised by reads)
└── ChangeFailed        nothing was written, and nobody was told
    ├── DiskFull        there is no room; later changes may succeed
    ├── Broken          the disk failed, and whether the change was written is unknown; later changes may succeed
    └── Closed          the store was closed before
"""

from pathlib import Path


class StorageError(Exception):
    """Everything below."""


class CannotOpen(StorageError):
    """The data cannot be used. The message names the file and says what was found."""

    def __init__(self, path: Path | str, found: str) -> None:
        super().__init__(f"{path}: {found}")
        self.path = path


class InUse(CannotOpen):
    """Another process owns the file."""


class WrongSchema(CannotOpen):
    """The file is something else, or was written by another version."""


class Corrupt(CannotOpen):
    """The file is damaged."""


class ChangeFailed(StorageError):
    """A change was not written and not told to anybody."""


class DiskFull(ChangeFailed):
    """There is no room for a change."""


class Broken(ChangeFailed):
    """The disk or the file failed under a commit. The store takes no change until it could open the file again."""


class Closed(ChangeFailed):
    """The store was closed."""

    def __init__(self) -> None:
        super().__init__("the store is closed")
