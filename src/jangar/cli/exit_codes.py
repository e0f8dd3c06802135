"""Exit codes of `jangar`. They are documented, and scripts rely on them."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of all commands."""

    OK = 0
    FAILED = 1
    """The command failed, or found problems."""
    USAGE = 2
    """The command line is wrong, or names a file that cannot be read."""
    CANCELLED = 3
    NOT_FOUND = 4
    UNREACHABLE = 5
    """The API cannot be reached."""
    TIMEOUT = 124
    INTERRUPTED = 130
    """Ctrl-C."""
    BROKEN_PIPE = 141
    """The reader closed the pipe."""
