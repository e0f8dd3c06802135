"""Searches text with RE2, the engine that Kubernetes uses: time grows linearly with pattern and text. Knows no CEL."""

from typing import Any, Final

import re2

MAX_PATTERN: Final = 10_000
"""Characters of a pattern."""
_MAX_MEMORY: Final = 2**20
"""Bytes that one compiled pattern may take; RE2 keeps the last 128 of them."""


class InvalidPattern(ValueError):
    """A pattern that RE2 does not take; says why."""


def compiled(pattern: str) -> Any:
    """The pattern, compiled. Raises InvalidPattern."""
    if len(pattern) > MAX_PATTERN:
        raise InvalidPattern(f"the pattern has {len(pattern)} characters, more than {MAX_PATTERN}")
    options = re2.Options()
    options.max_mem = _MAX_MEMORY
    options.log_errors = False
    # Groups multiply the time of a search, and nobody asks for them.
    options.never_capture = True
    try:
        return re2.compile(pattern.encode(errors="replace"), options)
    except re2.error as error:
        told = error.args[0] if error.args else ""
        raise InvalidPattern(
            told.decode(errors="replace") if isinstance(told, bytes) else str(told)
        ) from error
