"""Routes that read runs: lists, one run and its parts, and event streams of both."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import timedelta
from typing import Any, Final

from jangar.api.phases import Phase
from jangar.domain.views.run_graph import run_graph
from jangar.domain.views.run_timeline import run_timeline
from jangar.operations import run_documents
from jangar.operations.objects import list_events
from jangar.operations.run_list import BadCursor, RunFilter, list_run_page, parse_cursor
from jangar.operations.run_reading import ReadRun, explain_run_steps, get_run
from jangar.operations.step_logs import LogSource, StepLogs, find_log_source
from jangar.server.http import event_stream
from jangar.server.http.event_stream import Event
from jangar.server.http.problems import Problem
from jangar.server.http.rights import GET_RUN, LIST_EVENTS, LIST_RUNS
from jangar.server.http.route import Answer, ApiRequest
from jangar.server.http.service import Service
from jangar.store.errors import StoreError
from jangar.store.rows import EventRow
from kubekit.client.errors import NotFound, is_transient

RIGHTS_INTERVAL: Final = 30.0
"""Seconds after which the permissions of a watching client are checked again."""
NEW_NAMESPACE_INTERVAL: Final = 1.0
"""The same, when a change is in a namespace that the client may not see yet."""
MIN_READ_INTERVAL: Final = 0.1
"""Seconds between two reads of a run that changes continuously."""
RETRY_DELAY: Final = 1.0
MAX_EVENTS: Final = 200


async def list_runs(request: ApiRequest) -> Answer:
    query, service = request.query, request.service
    visible = await request.visible(LIST_RUNS, required=True)
    try:
        after = parse_cursor(query.cursor) if query.cursor else None
    except BadCursor as error:
        raise Problem(400, str(error)) from error
    wanted = RunFilter(
        namespaces=visible,
        phases=frozenset(Phase(part) for part in query.phase.split(",") if part),
        orchestration=query.orchestration,
        text=query.q,
        since=service.now() - timedelta(seconds=query.since_seconds) if query.since_seconds else None,
        nested=query.nested,
    )
    # Read the position first: a change during the history query is then sent twice rather than never.
    position = service.live.position
    page = await list_run_page(service.live, service.past, wanted, after=after, limit=query.limit)
    history = "off" if service.past is None else "well" if page.is_complete else "unreachable"
    return {"items": page.rows, "next": page.next, "position": position, "history": history}


async def watch_runs(request: ApiRequest) -> Answer:
    await request.visible(LIST_RUNS, required=True)
    return event_stream.stream(_run_changes(request, request.http.headers.get("last-event-id")))


async def _run_changes(request: ApiRequest, after: str | None) -> AsyncGenerator[Event | bytes]:
    """Changes in visible namespaces. Permissions are checked again from time to time."""
    service, loop = request.service, asyncio.get_running_loop()
    checked = loop.time()
    visible = await service.visible(request.principal, LIST_RUNS, request.query.namespace)
    yield Event("hello", {}, after or service.live.position)
    async with aclosing(service.live.changes(after)) as changes:
        async for batch in changes:
            is_new = visible is not None and any(change.namespace not in visible for change in batch)
            if loop.time() - checked > (NEW_NAMESPACE_INTERVAL if is_new else RIGHTS_INTERVAL):
                checked = loop.time()
                visible = await service.visible(request.principal, LIST_RUNS, request.query.namespace)
                if visible is not None and not visible:
                    return
            shown = [
                change.written
                for change in batch
                if change.kind == "reset" or visible is None or change.namespace in visible
            ]
            if shown:
                yield b"".join(shown)


async def show_run(request: ApiRequest) -> Answer:
    return _detail(request.service, await get_run(request.caller, request.run))


def _detail(service: Service, read: ReadRun) -> dict[str, Any]:
    retries = service.live.retries_of(read.identity.namespace, read.identity.name)
    return run_documents.detail(read, now=service.now(), retried_by=retries)


async def show_object(request: ApiRequest) -> Answer:
    return dict((await get_run(request.caller, request.run)).obj)


async def show_graph(request: ApiRequest) -> Answer:
    read = await get_run(request.caller, request.run)
    if read.view is None:
        return {"nodes": [], "edges": []}
    return run_documents.graph_document(run_graph(read.view.definition, read.view.states))


async def show_timeline(request: ApiRequest) -> Answer:
    read = await get_run(request.caller, request.run)
    return run_documents.timeline_document(run_timeline(read.record))


async def explain(request: ApiRequest) -> Answer:
    read, explanations = await explain_run_steps(request.caller, request.run, request.query.step)
    return run_documents.explanation_document(read, explanations)


async def show_events(request: ApiRequest) -> Answer:
    """Events of the API, with the caller's permissions, and of the history."""
    run = await get_run(request.caller, request.run)
    await request.require(LIST_EVENTS, request.run.namespace, prefix="permission denied:")
    events = await list_events(request.caller, run.obj)
    documents = [run_documents.event_document(event) for event in events]
    if request.service.past is not None:
        with contextlib.suppress(StoreError):
            stored = await request.service.past.events(run.identity.uid, MAX_EVENTS)
            documents = _with_stored(documents, stored)
    documents.sort(key=lambda document: str(document["lastAt"]))
    return {"items": documents[-MAX_EVENTS:]}


def _with_stored(documents: list[dict[str, Any]], stored: Sequence[EventRow]) -> list[dict[str, Any]]:
    """Stored events are added unless the API still has them."""
    known = {(document["type"], document["reason"], document["message"]) for document in documents}
    return documents + [
        run_documents.stored_event_document(row)
        for row in stored
        if (row.type, row.reason, row.message) not in known
    ]


async def show_logs(request: ApiRequest) -> Answer:
    """The log of one attempt of one step; the caller's permissions decide about pods."""
    query, caller = request.query, request.caller
    read = await get_run(caller, request.run)
    source = await find_log_source(caller.runs, read, query.step, query.attempt)
    logs = StepLogs(caller)
    if query.follow:
        skip = request.http.headers.get("last-event-id", "0")
        return event_stream.stream(_log_lines(logs, source, int(skip) if skip.isdecimal() else 0))
    log = await logs.read(source, query.tail)
    return {
        "step": source.path,
        "attempt": source.attempt,
        "lines": list(log.lines),
        "missing": log.missing,
        "note": log.note,
    }


async def _log_lines(logs: StepLogs, source: LogSource, skip: int) -> AsyncGenerator[Event | bytes]:
    number = skip
    async with aclosing(logs.follow(source, skip)) as lines:
        async for line in lines:
            number += 1
            yield Event("line", {"line": line}, str(number))
    yield Event("end", {"lines": number}, str(number))


async def watch_run(request: ApiRequest) -> Answer:
    """The complete run, then changes; the complete run again after a reconnect."""
    run = await get_run(request.caller, request.run)
    if not run.is_live:
        return event_stream.stream(_past_run(_detail(request.service, run)))
    return event_stream.stream(_run_updates(request))


async def _past_run(run: dict[str, Any]) -> AsyncGenerator[Event | bytes]:
    """A deleted run does not change any more."""
    yield Event("run", run, run["resourceVersion"])
    yield Event("gone", {"namespace": run["namespace"], "name": run["name"]})


async def _run_updates(request: ApiRequest) -> AsyncGenerator[Event | bytes]:
    service, (namespace, name) = request.service, (request.run.namespace, request.run.name)
    loop, checked, last = asyncio.get_running_loop(), asyncio.get_running_loop().time(), dict[str, Any]()
    with service.live.change_event(namespace, name) as changed:
        while True:
            if loop.time() - checked > RIGHTS_INTERVAL:
                checked = loop.time()
                if not await request.principal.rights.has(GET_RUN, namespace):
                    return
            changed.clear()
            try:
                read = await service.runs.read(namespace, name)
            except NotFound:
                read = None
            except Exception as error:
                if not is_transient(error):
                    raise
                await asyncio.sleep(RETRY_DELAY)
                continue
            if read is None or not read.is_live:
                yield Event("gone", {"namespace": namespace, "name": name})
                return
            current = _detail(service, read)
            change = _difference(last, current)
            if change is not None:
                yield Event("run" if not last else "change", change, current["resourceVersion"])
            last = current
            await asyncio.sleep(MIN_READ_INTERVAL)
            await changed.wait()


def _difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any] | None:
    """The run with only its changed steps, or with all steps if the steps are others; None without a change."""
    if not old or old["uid"] != new["uid"] or len(old["steps"]) != len(new["steps"]):
        return new
    changed = [
        after
        for before, after in zip(old["steps"], new["steps"], strict=True)
        if {**before, "durationSeconds": None} != {**after, "durationSeconds": None}
    ]
    is_same = not changed and all(old[field] == new[field] for field in ("resourceVersion", "retriedBy"))
    return None if is_same else {**new, "steps": changed}
