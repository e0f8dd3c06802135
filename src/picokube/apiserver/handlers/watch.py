"""WATCH: events after a revision, bookmarks, the initial list as events, and an end in time."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import lru_cache

import orjson

from picokube.apiserver.handlers.objects import MAX_DIGITS, invalid_version, is_version
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.kinds.stored_forms import in_version, upgraded, upgraded_snapshot
from picokube.apiserver.objects.context import ServerContext
from picokube.apiserver.objects.selectors import Selection, selection_of
from picokube.apiserver.printing.representations import Representation, Whole, chosen
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import (
    Answer,
    JsonObject,
    Request,
    Stream,
    Target,
    forbidden,
    invalid_options,
    unsupported,
)
from picokube.apiserver.storage.store import Compacted, Event, EventType, Stored, TooSlow
from picokube.schema.go_text import go_quote

BOOKMARK_SECONDS = 60.0
LAST_BOOKMARK_SECONDS = 2.0
"""A watch gets a last bookmark this long before its end."""
DEFAULT_SECONDS = 1800
KIND_GONE_SECONDS = 1.0
"""A watch continues this long after its kind is removed, so that clients receive the last events."""
_INTEGER = re.compile(r"[+-]?[0-9]+")
SHARED_BYTES = 512 * 1024
"""Larger batches are made for each watcher: keeping them would cost more than making them."""
MAX_INITIAL_CHUNK_BYTES = 256 * 1024
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True, kw_only=True)
class _WatchRequest:
    """The parameters of one watch."""

    context: ServerContext
    resource: ResourceType
    namespace: str | None
    selection: Selection
    shown: Representation
    bookmarks: bool
    seconds: float

    @property
    def is_served(self) -> bool:
        """Whether the kind is still served unchanged: a watch ends when the definition of a custom kind changes."""
        requested = self.resource
        found = self.context.registry.find(requested.group, requested.version, requested.plural)
        return found is not None and found.strategy is requested.strategy


async def watch(context: ServerContext, resource: ResourceType, target: Target, request: Request) -> Answer:
    """A stream of events, one JSON document a line."""
    selection = selection_of(request, resource)
    if target.name is not None:
        request_fields = f"metadata.name={target.name}"
        selection = selection_of(
            Request(method="GET", path="", query={"fieldSelector": [request_fields]}), resource
        )
    version = request.parameter("resourceVersion") or ""
    if version and not is_version(version):
        raise errors.internal(invalid_version(version))
    initial = request.flag("sendInitialEvents")
    declined = request.parameter("sendInitialEvents") is not None and not initial
    _check_initial(request, initial=initial)
    requested = _WatchRequest(
        context=context,
        resource=resource,
        namespace=target.namespace,
        selection=selection,
        shown=chosen(request),
        bookmarks=request.flag("allowWatchBookmarks"),
        seconds=_seconds(request),
    )
    anywhere = version in ("", "0")
    since = context.store.revision if anywhere else int(version)
    lines = _lines(requested, since, initial=initial or (anywhere and not declined), marked=initial)
    return Stream(chunks=lines, content_type=requested.shown.content_type)


def _seconds(request: Request) -> float:
    """The duration of the watch; zero or less means the default."""
    text = request.parameter("timeoutSeconds") or "0"
    if not _INTEGER.fullmatch(text):
        raise errors.bad_request(f"strconv.ParseInt: parsing {go_quote(text)}: invalid syntax")
    if len(text) > MAX_DIGITS or abs(int(text)) >= 2**63:
        raise errors.bad_request(f"strconv.ParseInt: parsing {go_quote(text)}: value out of range")
    return float(int(text)) if int(text) > 0 else float(DEFAULT_SECONDS)


def _check_initial(request: Request, *, initial: bool) -> None:
    match = request.parameter("resourceVersionMatch")
    problems = []
    if initial and match != "NotOlderThan":
        detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        problems.append(forbidden("resourceVersionMatch", detail))
    if match and request.parameter("sendInitialEvents") is None:
        detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        problems.append(forbidden("resourceVersionMatch", detail))
    if match not in (None, "", "NotOlderThan"):
        problems.append(unsupported("resourceVersionMatch", match, "NotOlderThan"))
    if problems:
        raise invalid_options("ListOptions", problems)


async def _lines(
    requested: _WatchRequest, since: int, *, initial: bool, marked: bool
) -> AsyncIterator[bytes]:
    first = True
    if initial:
        stored_as = requested.resource.stored_as or requested.resource.qualified
        snapshot = upgraded_snapshot(
            requested.resource, requested.context.store.list(stored_as, requested.namespace)
        )
        since = snapshot.revision
        for chunk in _initial(requested, snapshot.objects):
            first = False
            yield chunk
        if marked and requested.bookmarks:
            yield _bookmark(requested, since, initial_end=True)
    async for reported in _until(requested, since):
        if isinstance(reported, bytes):
            yield reported
        elif chunk := _chunk(requested, reported, first=first):
            first = False
            yield chunk


def _initial(requested: _WatchRequest, objects: Iterable[Stored]) -> Iterator[bytes]:
    """The current objects as ADDED events, in chunks: a slow client keeps only one in memory."""
    lines: list[bytes] = []
    size, is_first = 0, True
    for stored in objects:
        if not requested.selection.matches(stored):
            continue
        lines.append(
            _line(EventType.ADDED, requested.shown.event(requested.resource, stored.data, first=is_first))
        )
        is_first = False
        size += len(lines[-1])
        if size >= MAX_INITIAL_CHUNK_BYTES:
            yield b"".join(lines)
            lines, size = [], 0
    if lines:
        yield b"".join(lines)


async def _until(requested: _WatchRequest, since: int) -> AsyncIterator[Sequence[Event] | bytes]:
    """Batches and bookmarks until the time is over; an error that ends the watch is its last line."""
    stored_as = requested.resource.stored_as or requested.resource.qualified
    loop = asyncio.get_running_loop()
    end = loop.time() + requested.seconds
    timer: asyncio.Timeout | None = None

    def end_with_kind() -> None:
        nonlocal end
        if not requested.is_served:
            end = min(end, loop.time() + KIND_GONE_SECONDS)
            # Between two waits there is nothing to shorten.
            if timer is not None:
                with suppress(RuntimeError):
                    timer.reschedule(end)

    next_bookmark = min(loop.time() + BOOKMARK_SECONDS, end - LAST_BOOKMARK_SECONDS)
    try:
        async with aclosing(requested.context.store.watch(stored_as, requested.namespace, since)) as events:
            requested.context.registry.listeners.add(end_with_kind)
            end_with_kind()
            while loop.time() < end:
                try:
                    # A timer costs a fraction of a task, and a thousand watchers each wait for every event.
                    async with asyncio.timeout_at(
                        min(end, next_bookmark) if requested.bookmarks else end
                    ) as timer:
                        batch = await anext(events)
                except TimeoutError:
                    if loop.time() < end:
                        # The revision that was delivered: newer events may still be queued.
                        yield _bookmark(requested, events.revision)
                        next_bookmark = loop.time() + BOOKMARK_SECONDS
                else:
                    yield batch
    except Compacted as error:
        expired = errors.Expired(f"too old resource version: {error.requested} ({error.floor})")
        yield _line("ERROR", orjson.dumps(expired.status()))
    except (StopAsyncIteration, TooSlow):
        return
    finally:
        requested.context.registry.listeners.discard(end_with_kind)


def _chunk(requested: _WatchRequest, events: Sequence[Event], *, first: bool) -> bytes:
    """A batch as this watcher sees it; most see everything, and all of them the same."""
    if requested.selection.is_everything and isinstance(requested.shown, Whole) and events:
        size = sum(len(event.object.data) for event in events)
        batch = _Batch(
            kind=id(requested.resource),
            namespace=requested.namespace,
            first=events[0].object.data,
            last=events[-1].object.data,
            resource=requested.resource,
            events=events,
        )
        return _shared_chunk(batch) if size < SHARED_BYTES else _chunk_of(batch)
    lines: list[bytes] = []
    for event in events:
        line = _event_line(requested, event, first=first and not lines)
        if line is not None:
            lines.append(line)
    return b"".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """Events for all watchers of a whole resource; batches with equal first and last events are equal."""

    kind: int
    namespace: str | None
    first: bytes
    last: bytes
    resource: ResourceType = field(compare=False)
    events: Sequence[Event] = field(compare=False)


def _chunk_of(batch: _Batch) -> bytes:
    resource = batch.resource
    shown = ((event.type, upgraded(resource, event.object).data) for event in batch.events)
    return b"".join(_line(kind, in_version(resource, data)) for kind, data in shown)


@lru_cache(maxsize=8)
def _shared_chunk(batch: _Batch) -> bytes:
    """The chunk of a batch, encoded once for all watchers."""
    return _chunk_of(batch)


def _event_line(requested: _WatchRequest, event: Event, *, first: bool) -> bytes | None:
    """The event as this watcher sees it: an object that begins or ceases to match is added or deleted to them."""
    was = event.previous is not None and requested.selection.matches(event.previous)
    matches = event.type is not EventType.DELETED and requested.selection.matches(event.object)
    match (was, matches):
        case (False, False):
            if event.type is not EventType.DELETED or not requested.selection.matches(event.object):
                return None
            kind, stored = EventType.DELETED, event.object
        case (False, True):
            kind, stored = EventType.ADDED, event.object
        case (True, True):
            kind, stored = EventType.MODIFIED, event.object
        case _:
            kind, stored = EventType.DELETED, _last_matching_state(event)
    data = upgraded(requested.resource, stored).data
    return _line(kind, requested.shown.event(requested.resource, data, first=first))


def _last_matching_state(event: Event) -> Stored:
    """What a watcher last knew of an object that left its selection, with the revision at which it left."""
    if event.type is EventType.DELETED or event.previous is None:
        return event.object
    obj = orjson.loads(event.previous.data)
    obj["metadata"]["resourceVersion"] = str(event.object.revision)
    return Stored(
        key=event.object.key,
        uid=event.object.uid,
        revision=event.object.revision,
        data=orjson.dumps(obj),
        labels=event.previous.labels,
    )


def _line(kind: str, data: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + data + b"}\n"


def _bookmark(requested: _WatchRequest, revision: int, *, initial_end: bool = False) -> bytes:
    meta: JsonObject = {"resourceVersion": str(revision)}
    if initial_end:
        meta["annotations"] = {INITIAL_EVENTS_END: "true"}
    obj: JsonObject = {
        "apiVersion": requested.resource.api_version,
        "kind": requested.resource.kind,
        "metadata": meta,
    }
    data = orjson.dumps(obj)
    return _line("BOOKMARK", requested.shown.event(requested.resource, data, first=False))
