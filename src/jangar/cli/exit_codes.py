"""What the exit codes of `jangar` mean. Scripts rely on them: they are documented and do not change."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The same for every command."""

    OK = 0
    FAILED = 1
    """Problems were found, or what was asked for failed."""
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
    """The reader of our output went away."""
