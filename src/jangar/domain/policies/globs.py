"""Patterns in which `*` stands for any text and everything else for itself."""

import re
from functools import lru_cache


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")), re.DOTALL)


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text is of the pattern."""
    return _compiled(pattern).fullmatch(text) is not None


def first_match(patterns: tuple[str, ...], text: str) -> str | None:
    """The first pattern that the text is of."""
    return next((pattern for pattern in patterns if matches(pattern, text)), None)
