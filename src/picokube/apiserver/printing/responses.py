"""Answers to writes: the object in the form that was asked for, with warnings as headers."""

import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import orjson

from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.kinds.stored_forms import ordered
from picokube.apiserver.printing.representations import chosen
from picokube.apiserver.protocol.errors import ApiError
from picokube.apiserver.protocol.messages import JsonObject, Request, Response


def object_answer(
    request: Request,
    resource: ResourceType,
    obj: JsonObject,
    *,
    data: bytes | None = None,
    status: int = 200,
    warnings: Iterable[str] = (),
) -> Response:
    """The object; `data` are its bytes where it was just stored."""
    shown = chosen(request)
    return Response(
        status=status,
        body=shown.one(resource, orjson.dumps(ordered(obj)) if data is None else data) + b"\n",
        content_type=shown.content_type,
        headers=warning_headers(warnings),
    )


MAX_WARNINGS: Final = 4_096
MAX_WARNING: Final = 256
MAX_WARNING_COUNT: Final = 50
"""Clients refuse answers with more than a hundred headers."""


def warning_headers(warnings: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """One with a control character is left out, as Kubernetes does: a field's name may hold any."""
    shown = _shortened(warning for warning in dict.fromkeys(warnings) if not _has_control_character(warning))
    return tuple(("Warning", f"299 - {orjson.dumps(item).decode()}") for item in shown)


def _has_control_character(text: str) -> bool:
    return any(unicodedata.category(c) == "Cc" for c in text)


def _shortened(warnings: Iterable[str]) -> list[str]:
    """As Kubernetes does: 4,096 characters in all; of many warnings 256 of each, and what is beyond is left out.

    Reads no more of them than it needs: an object may have a hundred thousand.
    """
    first: list[str] = []
    characters = 0
    for warning in warnings:
        characters += len(warning)
        if len(first) < MAX_WARNING_COUNT:
            first.append(warning)
        elif characters > MAX_WARNINGS:
            break
    if characters <= MAX_WARNINGS:
        return first
    kept: list[str] = []
    left = MAX_WARNINGS
    for item in first:
        short = item[:MAX_WARNING]
        left -= len(short)
        if left < 0:
            break
        kept.append(short)
    return kept


@contextmanager
def also_warning(warnings: list[str]) -> Iterator[None]:
    """What is refused meanwhile is refused with these warnings."""
    try:
        yield
    except ApiError as error:
        error.headers = (*error.headers, *warning_headers(warnings))
        raise
