"""What stops lint before it has read anything.

LintError
+-- CannotRead    a file or directory that was named cannot be read
"""


class LintError(Exception):
    """Root of everything this package raises on purpose."""


class CannotRead(LintError):
    """Something that was asked for is not there, not readable, or holds nothing to check."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"cannot read {name}: {why}")
        self.name, self.why = name, why
