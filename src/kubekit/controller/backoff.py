"""Exponential backoff with a limit and jitter."""

from collections.abc import Callable
from dataclasses import dataclass

_MAX_EXPONENT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """`first` seconds, doubled with every failure up to `limit`; jitter reduces it by up to half."""

    first: float = 0.005
    limit: float = 30.0

    def delay(self, failures: int, random: Callable[[], float]) -> float:
        """Seconds to wait after a failure that follows `failures` earlier ones."""
        ceiling = min(self.limit, self.first * 2.0 ** min(failures, _MAX_EXPONENT))
        return ceiling * (0.5 + random() / 2)
