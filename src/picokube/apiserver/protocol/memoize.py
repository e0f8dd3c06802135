"""Caches the results of pure functions of short texts that recur.

Long texts are never cached: a client must not be able to fill the memory with what it sends.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

MAX_LENGTH = 512

Text = TypeVar("Text", str, bytes)
Answer = TypeVar("Answer")


def memoized(most: int) -> Callable[[Callable[[Text], Answer]], Callable[[Text], Answer]]:
    """Cache up to `most` results of a function. Results are shared and never mutated."""

    def decorate(work: Callable[[Text], Answer]) -> Callable[[Text], Answer]:
        kept = lru_cache(maxsize=most)(work)

        @wraps(work)
        def answer(text: Text) -> Answer:
            return kept(text) if len(text) <= MAX_LENGTH else work(text)

        return answer

    return decorate
