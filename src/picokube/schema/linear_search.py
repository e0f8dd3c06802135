"""Compiles patterns for RE2, the linear-time regular expression engine."""

from typing import Any, Final

import re2

MAX_PATTERN: Final = 10_000
"""Maximum characters of a pattern."""
_MAX_MEMORY: Final = 2**20
"""Maximum bytes of a compiled pattern. RE2 caches 128 patterns."""


class InvalidPattern(ValueError):
    """RE2 rejects the pattern."""


def compiled(pattern: str) -> Any:
    """Compile a pattern. Raises InvalidPattern."""
    if len(pattern) > MAX_PATTERN:
        raise InvalidPattern(f"the pattern has {len(pattern)} characters, more than {MAX_PATTERN}")
    options = re2.Options()
    options.max_mem = _MAX_MEMORY
    options.log_errors = False
    # Capture groups slow down the search and are not needed.
    options.never_capture = True
    try:
        return re2.compile(pattern.encode(errors="replace"), options)
    except re2.error as error:
        reported = error.args[0] if error.args else ""
        raise InvalidPattern(
            reported.decode(errors="replace") if isinstance(reported, bytes) else str(reported)
        ) from error
