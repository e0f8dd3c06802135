"""Where a run's step statuses are kept: in its status, or, of a big run, in pages that the run owns (DAG-14).

Knows how much fits into one object. Page boundaries stay while steps change, so a change rewrites one page.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from jangar.api.meta import JsonObject
from jangar.api.phases import StepPhase
from jangar.domain.orchestration.child_names import owned_name

MAX_INLINE = 500
MAX_PAGE = 500
MAX_BYTES = 900 * 1024
MAX_INLINE_BYTES = 700 * 1024
"""The run's status holds more than its steps."""

_ACTIVE = frozenset({StepPhase.RUNNING, StepPhase.RETRYING})
_UNSUCCESSFUL = frozenset({StepPhase.FAILED, StepPhase.CANCELLED})

StepDocument = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedSteps:
    """What goes where. Without pages, `inline` is every step."""

    inline: tuple[StepDocument, ...]
    omitted: int = 0
    """Active and failed steps that did not fit into `inline`; they are on the pages."""
    pages: tuple[JsonObject, ...] = ()
    page_size: int = MAX_PAGE
    """Steps on each page but the last."""
    total: int


def split_steps(steps: Sequence[StepDocument], *, page_size: int = MAX_PAGE) -> PagedSteps:
    """Divide the steps. Pass the page size of the run's last status to keep page boundaries."""
    if len(steps) <= MAX_INLINE and _size(steps) <= MAX_INLINE_BYTES:
        return PagedSteps(inline=tuple(steps), page_size=page_size, total=len(steps))
    inline, omitted = shown_inline(steps)
    pages, size = _pages(steps, page_size)
    return PagedSteps(inline=inline, omitted=omitted, pages=pages, page_size=size, total=len(steps))


def shown_inline(steps: Sequence[StepDocument]) -> tuple[tuple[StepDocument, ...], int]:
    """Of a run that needs pages, what its status shows all the same, and how many more it would show."""
    candidates = [index for index, step in enumerate(steps) if _is_active(step)]
    candidates += [index for index, step in enumerate(steps) if step.get("phase") in _UNSUCCESSFUL]
    inline = sorted(_that_fit(steps, candidates))
    return tuple(steps[index] for index in inline), len(candidates) - len(inline)


def join_pages(inline: Iterable[StepDocument], pages: Iterable[StepDocument]) -> list[StepDocument]:
    """Every step of a run in list order, from its status and its pages in any order."""
    ordered = sorted(pages, key=lambda page: int(page["page"]))
    return [step for page in ordered for step in page["steps"]] if ordered else list(inline)


def page_name(run_name: str, run_uid: str, number: int, other: int = 0) -> str:
    """Name of the object that holds one page; the first is 0. `other` gives further names for one that is taken."""
    return owned_name(run_name, f"{run_uid} {other}" if other else run_uid, "steps", number)


def _is_active(step: StepDocument) -> bool:
    started = step.get("phase") == StepPhase.PENDING and (step.get("attempt") or 0) > 0
    return started or step.get("phase") in _ACTIVE


def _that_fit(steps: Sequence[StepDocument], candidates: Sequence[int]) -> Iterator[int]:
    """As many of the wanted steps as the status can hold, the first first."""
    room = MAX_INLINE_BYTES
    for index in islice(candidates, MAX_INLINE):
        room -= _size(steps[index])
        if room < 0:
            return
        yield index


def _pages(steps: Sequence[StepDocument], size: int) -> tuple[tuple[JsonObject, ...], int]:
    """Pages of one size: halved until each fits, for steps that carry much."""
    while True:
        starts = range(0, len(steps), size)
        pages = tuple(
            {"page": number, "steps": list(steps[start : start + size])}
            for number, start in enumerate(starts)
        )
        if size == 1 or all(_size(page) <= MAX_BYTES for page in pages):
            return pages, size
        size //= 2


def _size(value: object) -> int:
    """Bytes of the value's JSON as text inside other JSON: the longest form in which it may be sent."""
    return len(json.dumps(json.dumps(value)))
