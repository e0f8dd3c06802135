"""Routes about the control plane itself: how it is, what it holds, what it will delete, who asks."""

from collections import Counter
from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final

from starlette.responses import JSONResponse, Response

from jangar.api.orchestration import OrchestrationSpec
from jangar.api.phases import Phase
from jangar.domain.orchestration.definition import Definition
from jangar.domain.orchestration.validation import define
from jangar.domain.views.run_graph import run_graph
from jangar.lint.conditions import compile_when
from jangar.operations import run_documents as documents
from jangar.operations.run_reading import ORCHESTRATIONS
from jangar.server.http.problems import Problem, unauthenticated
from jangar.server.http.rights import LIST_ORCHESTRATIONS, LIST_RUNS
from jangar.server.http.service import HistoryKept, Service
from jangar.server.http.table import Answer, Ask
from jangar.telemetry.metrics import CONTENT_TYPE
from kubekit.client.api_client import Obj

SERVICE: Final = "jangar"
SHOWN: Final = 1000


def problems(service: Service) -> dict[str, list[str]]:
    """Of every part, the list of runs among them."""
    found = {name: list(reported) for name, reported in service.parts().items()}
    informer = service.live.informer
    stale = service.live.is_ready and informer.age() > informer.longest_silence
    found["runs"] = (
        ["the runs have not been listed yet"]
        if not service.live.is_ready
        else ["no response from the Kubernetes API"]
        if stale
        else []
    )
    return found


async def health(ask: Ask) -> Answer:
    """Alive: it answers. What it waits for is `ready`'s to tell, lest a restart be taken for a cure."""
    del ask
    return {"status": "ok", "service": SERVICE}


async def ready(ask: Ask) -> Answer:
    reported = {name: found for name, found in problems(ask.service).items() if found}
    status = "degraded" if reported else "ok"
    return JSONResponse(
        {"status": status, "service": SERVICE, "problems": reported}, status_code=503 if reported else 200
    )


async def metrics(ask: Ask) -> Answer:
    runs = Counter(str(row["phase"]) for row in ask.service.live.rows())
    own = ["# HELP jangar_runs Runs by phase.", "# TYPE jangar_runs gauge"]
    own += [f'jangar_runs{{phase="{phase}"}} {runs[phase]}' for phase in Phase]
    own += [
        "# HELP jangar_event_stream_clients Readers that follow the runs.",
        "# TYPE jangar_event_stream_clients gauge",
        f"jangar_event_stream_clients {ask.service.live.listeners}",
        "# HELP jangar_runs_watches_total Watches of runs that were begun; all but the first are restarts.",
        "# TYPE jangar_runs_watches_total counter",
        f"jangar_runs_watches_total {ask.service.live.informer.counts.watches}",
        "# HELP jangar_audit_waiting_rows Audit rows that are not stored yet.",
        "# TYPE jangar_audit_waiting_rows gauge",
        f"jangar_audit_waiting_rows {ask.service.trail.waiting}",
    ]
    measured: bytes = ask.request.app.state.measured()
    text = "\n".join(own).encode() + b"\n" + measured + ask.service.metrics()
    return Response(text, headers={"Content-Type": CONTENT_TYPE})


async def describe(ask: Ask) -> Answer:
    return Response(ask.request.app.state.openapi(), media_type="application/json")


async def status(ask: Ask) -> Answer:
    service, around = ask.service, ask.service.around
    past = service.past
    history = "off" if past is None else "well" if await past.is_well() else "unreachable"
    return {
        "version": service.version,
        "namespaces": None if service.namespaces is None else list(service.namespaces),
        "parts": [
            {"name": name, "well": not found, "problems": found} for name, found in problems(service).items()
        ],
        "history": history,
        "watchers": service.live.listeners,
        "controllers": await around.controllers(service.now()),
        "crds": await around.crds(),
        "runtimes": around.runtimes(),
        "auditWaiting": service.trail.waiting,
    }


async def audit(ask: Ask) -> Answer:
    """Of the namespaces whose runs the caller may list."""
    visible = await ask.visible(LIST_RUNS, some=True)
    if ask.service.past is None:
        return {"items": [], "next": None}
    history = await ask.service.past.history()
    found = await history.audit(
        sorted(visible) if visible is not None else None, ask.query.before, ask.query.limit
    )
    items = [{**asdict(item), "at": documents.moment(item.at)} for item in found]
    return {"items": items, "next": found[-1].number if len(found) == ask.query.limit else None}


async def summary(ask: Ask) -> Answer:
    visible = await ask.visible(LIST_RUNS)
    rows = [row for row in ask.service.live.rows() if visible is None or row["namespace"] in visible]
    runs = Counter(str(row["phase"]) for row in rows)
    return {
        "runs": {str(phase): runs[phase] for phase in Phase},
        "total": len(rows),
        "namespaces": sorted({str(row["namespace"]) for row in rows}),
    }


async def retention(ask: Ask) -> Answer:
    """GC-4: what will be deleted when, the first to go first."""
    service = ask.service
    visible = await ask.visible(LIST_RUNS)
    found = []
    for row in service.live.rows():
        if visible is not None and row["namespace"] not in visible:
            continue
        obj = service.live.object(str(row["namespace"]), str(row["name"])) or {}
        kept = (obj.get("status") or {}).get("retention")
        if kept:
            found.append({**{key: row[key] for key in ("namespace", "name", "phase")}, "retention": kept})
    found.sort(key=lambda item: str(item["retention"].get("runExpiresAt") or "9"))
    return {"items": found[:SHOWN]}


async def me(ask: Ask) -> Answer:
    service = ask.service
    return {
        "name": ask.who.name,
        "namespace": service.namespace,
        "laptop": service.doorkeeper.sessions is not None,
        "commandPrefix": service.command_prefix,
        "history": _history_kept(service.history_kept),
    }


def _history_kept(kept: HistoryKept | None) -> dict[str, int | None] | None:
    if kept is None:
        return None
    return {"recordSeconds": _whole_seconds(kept.record), "logSeconds": _whole_seconds(kept.log_tail)}


def _whole_seconds(span: timedelta | None) -> int | None:
    return None if span is None else int(span.total_seconds())


async def open_session(ask: Ask) -> Answer:
    """For a page that was opened without the token in its address."""
    sessions = ask.service.doorkeeper.sessions
    if sessions is None:
        raise Problem(
            404, "this server does not support sessions", fix="send your bearer token with each request"
        )
    if not sessions.opens(ask.body.token):
        raise unauthenticated("invalid web UI token")
    answer = JSONResponse({"message": "welcome"})
    answer.set_cookie(sessions.cookie, sessions.new(ask.service.now().timestamp()), **cookie_form())
    return answer


def cookie_form() -> dict[str, Any]:
    return {"httponly": True, "samesite": "strict", "path": "/", "max_age": 30 * 24 * 3600}


async def list_orchestrations(ask: Ask) -> Answer:
    visible = await ask.visible(LIST_ORCHESTRATIONS)
    if visible is None:
        found = await ask.who.client.list(ORCHESTRATIONS)
    else:
        found = [
            item for place in sorted(visible) for item in await ask.who.client.list(ORCHESTRATIONS, place)
        ]
    return {"items": [_orchestration(item) for item in found]}


async def show_orchestration(ask: Ask) -> Answer:
    obj = await ask.who.client.get(ORCHESTRATIONS, ask.path["name"], ask.path["namespace"])
    return {**_orchestration(obj), "graph": _graph(obj)}


def _orchestration(obj: Obj) -> dict[str, Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return {
        "namespace": obj["metadata"]["namespace"],
        "name": obj["metadata"]["name"],
        "description": spec.get("description") or "",
        "phase": status.get("phase") or "",
        "message": status.get("message") or "",
        "steps": len(spec.get("steps") or ()),
        "parameters": spec.get("parameters") or [],
    }


def _graph(obj: Obj) -> dict[str, Any] | None:
    """None of a definition that could not be run."""
    try:
        made = define(OrchestrationSpec.model_validate(obj.get("spec") or {}), compile_condition=compile_when)
    except ValueError:
        return None
    return documents.graphed(run_graph(made)) if isinstance(made, Definition) else None
