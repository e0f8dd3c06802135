"""Routes that show runs: lists, everything about one, and both as they change."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import timedelta
from typing import Any, Final

from jangar.api.phases import Phase
from jangar.domain.orchestration.explain import explain_run, explain_step
from jangar.domain.views.run_graph import run_graph
from jangar.domain.views.run_timeline import run_timeline
from jangar.operations import run_documents as documents
from jangar.operations.run_list import BadCursor, RunOptions, place_of
from jangar.operations.run_pages import run_page
from jangar.operations.run_reading import ReadRun
from jangar.operations.step_logs import Source, StepLogs, source_of
from jangar.operations.submit import no_such_step
from jangar.server.http import event_stream
from jangar.server.http.event_stream import Event
from jangar.server.http.problems import Problem
from jangar.server.http.rights import GET_RUN, LIST_EVENTS, LIST_RUNS
from jangar.server.http.service import Service
from jangar.server.http.table import Answer, Ask
from jangar.store.errors import StoreError
from jangar.store.rows import EventRow
from kubekit.client.builtin import EVENTS
from kubekit.client.errors import NotFound, is_transient

LOOK_AGAIN: Final = 30.0
"""Seconds after which somebody who follows is asked for their rights again."""
IDLE: Final = 0.1
"""Seconds between two looks at a run that changes all the time."""
SHOWN_EVENTS: Final = 200


async def list_runs(ask: Ask) -> Answer:
    query = ask.query
    visible = await ask.visible(LIST_RUNS, some=True)
    try:
        after = place_of(query.cursor) if query.cursor else None
    except BadCursor as error:
        raise Problem(400, str(error)) from error
    wanted = RunOptions(
        namespaces=visible,
        phases=frozenset(Phase(part) for part in query.phase.split(",") if part),
        orchestration=query.orchestration,
        text=query.q,
        since=ask.service.now() - timedelta(seconds=query.since_seconds) if query.since_seconds else None,
        nested=query.nested,
    )
    service = ask.service
    # Before the rows: what comes while history is asked is told by the watch once more rather than never.
    position = service.live.position
    found = await run_page(service.live, service.past, wanted, after=after, limit=query.limit)
    history = "off" if service.past is None else "well" if found.is_whole else "unreachable"
    return {"items": found.rows, "next": found.next, "position": position, "history": history}


async def watch_runs(ask: Ask) -> Answer:
    await ask.visible(LIST_RUNS, some=True)
    return event_stream.stream(_changes(ask, ask.request.headers.get("last-event-id")))


async def _changes(ask: Ask, after: str | None) -> AsyncGenerator[Event | bytes]:
    """Rights are looked at again now and then: who lost them hears no more."""
    loop = asyncio.get_running_loop()
    looked = loop.time()
    visible = await ask.service.visible(ask.who, LIST_RUNS, ask.query.namespace)
    yield Event("hello", {}, after or ask.service.live.position)
    async with aclosing(ask.service.live.changes(after)) as changes:
        async for some in changes:
            is_new = visible is not None and any(item.namespace not in visible for item in some)
            if loop.time() - looked > (1.0 if is_new else LOOK_AGAIN):
                looked = loop.time()
                visible = await ask.service.visible(ask.who, LIST_RUNS, ask.query.namespace)
                if visible is not None and not visible:
                    return
            shown = [
                item.written
                for item in some
                if item.kind == "reset" or visible is None or item.namespace in visible
            ]
            if shown:
                yield b"".join(shown)


async def _read(ask: Ask) -> ReadRun:
    return await ask.service.reads.read(ask.path["namespace"], ask.path["name"], ask.query.uid)


async def show_run(ask: Ask) -> Answer:
    return _detailed(ask.service, await _read(ask))


def _detailed(service: Service, read: ReadRun) -> dict[str, Any]:
    retries = service.live.retries_of(read.identity.namespace, read.identity.name)
    return documents.detailed(read, now=service.now(), retried_by=retries)


async def show_object(ask: Ask) -> Answer:
    return dict((await _read(ask)).obj)


async def show_graph(ask: Ask) -> Answer:
    read = await _read(ask)
    if read.view is None:
        return {"nodes": [], "edges": []}
    return documents.graphed(run_graph(read.view.definition, read.view.states))


async def show_timeline(ask: Ask) -> Answer:
    return documents.timed(run_timeline((await _read(ask)).record))


async def explain(ask: Ask) -> Answer:
    read, step = await _read(ask), ask.query.step
    if read.view is None:
        return documents.explained(read, ())
    if not step:
        return documents.explained(read, explain_run(read.view))
    found = explain_step(read.view, step)
    if found is None:
        raise no_such_step(read.identity.name, step, read.view.definition.graph.names)
    return documents.explained(read, (found,))


async def show_events(ask: Ask) -> Answer:
    """With the caller's own rights: what the API has, and what history has of it."""
    run, namespace = await _read(ask), ask.path["namespace"]
    uid = run.identity.uid
    if not await ask.who.rights.has(LIST_EVENTS, namespace):
        raise Problem(403, f"permission denied: {LIST_EVENTS} in namespace {namespace}")
    found = await ask.who.client.list(EVENTS, namespace, fields=f"involvedObject.uid={uid}")
    reported = [documents.event(item) for item in found]
    if ask.service.past is not None:
        with contextlib.suppress(StoreError):
            reported = _with_past(reported, await ask.service.past.events(uid, SHOWN_EVENTS))
    reported.sort(key=lambda item: str(item["lastAt"]))
    return {"items": reported[-SHOWN_EVENTS:]}


def _with_past(reported: list[dict[str, Any]], past: Sequence[EventRow]) -> list[dict[str, Any]]:
    """An Event that the API still has counts; it knows who else spoke."""
    known = {(item["type"], item["reason"], item["message"]) for item in reported}
    return reported + [
        documents.past_event(item) for item in past if (item.type, item.reason, item.message) not in known
    ]


async def show_logs(ask: Ask) -> Answer:
    """Of one attempt of one step; the caller's own rights decide about pods."""
    query, service = ask.query, ask.service
    source = await source_of(service.reads.read, await _read(ask), query.step, query.attempt)
    logs = StepLogs(
        ask.who.client, ask.who.transport, service.reads.read, tails=service.tails, past=service.past
    )
    if query.follow:
        skip = ask.request.headers.get("last-event-id", "0")
        return event_stream.stream(_lines(logs, source, int(skip) if skip.isdecimal() else 0))
    log = await logs.read(source, query.tail)
    return {
        "step": source.path,
        "attempt": source.attempt,
        "lines": list(log.lines),
        "missing": log.missing,
        "note": log.note,
    }


async def _lines(logs: StepLogs, source: Source, skip: int) -> AsyncGenerator[Event | bytes]:
    number = skip
    async with aclosing(logs.follow(source, skip)) as lines:
        async for line in lines:
            number += 1
            yield Event("line", {"line": line}, str(number))
    yield Event("end", {"lines": number}, str(number))


async def watch_run(ask: Ask) -> Answer:
    """First all of it, then what changed; the whole again after a cut."""
    run = await _read(ask)
    if not run.is_live:
        return event_stream.stream(_once(_detailed(ask.service, run)))
    return event_stream.stream(_sights(ask))


async def _once(run: dict[str, Any]) -> AsyncGenerator[Event | bytes]:
    """A run that is history changes no more."""
    yield Event("run", run, run["resourceVersion"])
    yield Event("gone", {"namespace": run["namespace"], "name": run["name"]})


async def _sights(ask: Ask) -> AsyncGenerator[Event | bytes]:
    service, (namespace, name) = ask.service, (ask.path["namespace"], ask.path["name"])
    loop, looked, last = asyncio.get_running_loop(), asyncio.get_running_loop().time(), dict[str, Any]()
    with service.live.bell(namespace, name) as bell:
        while True:
            if loop.time() - looked > LOOK_AGAIN:
                looked = loop.time()
                if not await ask.who.rights.has(GET_RUN, namespace):
                    return
            bell.clear()
            try:
                read = await service.reads.read(namespace, name)
            except NotFound:
                yield Event("gone", {"namespace": namespace, "name": name})
                return
            except Exception as error:
                if not is_transient(error):
                    raise
                await asyncio.sleep(1)
                continue
            if not read.is_live:
                yield Event("gone", {"namespace": namespace, "name": name})
                return
            now = _detailed(service, read)
            change = _difference(last, now)
            if change is not None:
                yield Event("run" if not last else "change", change, now["resourceVersion"])
            last = now
            await asyncio.sleep(IDLE)
            await bell.wait()


def _difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any] | None:
    """The run with only those of its steps that changed; all if the steps are others. None if nothing did."""
    if not old or old["uid"] != new["uid"] or len(old["steps"]) != len(new["steps"]):
        return new
    changed = [
        now
        for was, now in zip(old["steps"], new["steps"], strict=True)
        if {**was, "durationSeconds": None} != {**now, "durationSeconds": None}
    ]
    is_same = not changed and all(old[field] == new[field] for field in ("resourceVersion", "retriedBy"))
    return None if is_same else {**new, "steps": changed}
