"""How long to wait before the next try: doubling, bounded, with jitter. Knows no clock."""

from collections.abc import Callable
from dataclasses import dataclass

_LARGEST_EXPONENT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """`first` seconds, doubled with every failure, never above `limit`; a random half of it is taken off."""

    first: float = 0.005
    limit: float = 30.0

    def delay(self, failures: int, random: Callable[[], float]) -> float:
        """Seconds to wait after that many failures before this one."""
        whole = min(self.limit, self.first * 2.0 ** min(failures, _LARGEST_EXPONENT))
        return whole * (0.5 + random() / 2)
