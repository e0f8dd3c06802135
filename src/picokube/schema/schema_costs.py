"""The cost limits of the rules of a schema, and the errors for exceeding them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from picokube.schema.cel_sizes import capped
from picokube.schema.errors import FieldError, Path, forbidden
from picokube.schema.node import place

_LIMIT: Final = 10_000_000
_TOTAL_LIMIT: Final = 100_000_000
_MOST_NAMED: Final = 4
_FAR: Final = 100
_NEAR: Final = 1.5


@dataclass(frozen=True, slots=True)
class RuleCost:
    """The maximum cost of an expression of a schema for one object."""

    at: Path
    cost: int

    def problems(self, what: str) -> Iterator[FieldError]:
        if self.cost > _LIMIT:
            yield forbidden(place(self.at), _exceeds(what, self.cost, _LIMIT), path=self.at)


def total_problems(costs: Sequence[RuleCost]) -> Iterator[FieldError]:
    """The errors if the total cost exceeds its limit: for the most expensive rules and the total."""
    total = capped(sum(cost.cost for cost in costs))
    if total <= _TOTAL_LIMIT:
        return
    expensive = [cost for cost in costs if cost.cost >= _TOTAL_LIMIT // 100]
    for item in sorted(expensive, key=lambda item: -item.cost)[:_MOST_NAMED]:
        problem = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        yield forbidden(place(item.at), problem, path=item.at)
    what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    yield forbidden("", _exceeds(what, total, _TOTAL_LIMIT))


def _exceeds(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    times = f"{factor:f}x" if factor < _NEAR else f"{factor:.1f}x" if factor <= _FAR else "more than 100x"
    hint = "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings "
    return f"{what} exceeds budget by factor of {times} ({hint}are declared)"
