"""Routes about the control plane itself: health, metrics, audit, retention, sessions and orchestrations."""

from collections import Counter
from collections.abc import Mapping
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
from jangar.operations.audit import list_audit
from jangar.operations.objects import get_objects
from jangar.operations.retention import retention_rows
from jangar.operations.run_documents import graph_document, timestamp
from jangar.operations.run_reading import ORCHESTRATIONS
from jangar.server.http.identity import SESSION_SECONDS
from jangar.server.http.problems import Problem, unauthenticated
from jangar.server.http.rights import LIST_ORCHESTRATIONS, LIST_RUNS
from jangar.server.http.route import Answer, ApiRequest
from jangar.server.http.service import Service
from jangar.telemetry.metrics import CONTENT_TYPE
from kubekit.client.api_client import Obj

SERVICE: Final = "jangar"
COOKIE: Final[Mapping[str, Any]] = {
    "httponly": True,
    "samesite": "strict",
    "path": "/",
    "max_age": SESSION_SECONDS,
}


def problems(service: Service) -> dict[str, list[str]]:
    """The problems of every part, including the cache of runs."""
    found = {name: list(reported) for name, reported in service.parts().items()}
    informer = service.live.informer
    found["runs"] = []
    if not service.live.is_ready:
        found["runs"] = ["the runs have not been listed yet"]
    elif informer.age() > informer.longest_silence:
        found["runs"] = ["no response from the Kubernetes API"]
    return found


async def health(request: ApiRequest) -> Answer:
    """Alive means that it answers. Dependencies are reported by `ready`, because a restart does not fix them."""
    del request
    return {"status": "ok", "service": SERVICE}


async def ready(request: ApiRequest) -> Answer:
    unready = {name: found for name, found in problems(request.service).items() if found}
    body = {"status": "degraded" if unready else "ok", "service": SERVICE, "problems": unready}
    return JSONResponse(body, status_code=503 if unready else 200)


async def metrics(request: ApiRequest) -> Answer:
    runs = Counter(str(row["phase"]) for row in request.service.live.rows())
    own = ["# HELP jangar_runs Runs by phase.", "# TYPE jangar_runs gauge"]
    own += [f'jangar_runs{{phase="{phase}"}} {runs[phase]}' for phase in Phase]
    own += [
        "# HELP jangar_event_stream_clients Readers that follow the runs.",
        "# TYPE jangar_event_stream_clients gauge",
        f"jangar_event_stream_clients {request.service.live.listeners}",
        "# HELP jangar_runs_watches_total Watches of runs that were begun; all but the first are restarts.",
        "# TYPE jangar_runs_watches_total counter",
        f"jangar_runs_watches_total {request.service.live.informer.counts.watches}",
        "# HELP jangar_audit_waiting_rows Audit rows that are not stored yet.",
        "# TYPE jangar_audit_waiting_rows gauge",
        f"jangar_audit_waiting_rows {request.service.trail.waiting}",
    ]
    http: bytes = request.http.app.state.http_metrics()
    text = "\n".join(own).encode() + b"\n" + http + request.service.metrics()
    return Response(text, headers={"Content-Type": CONTENT_TYPE})


async def describe(request: ApiRequest) -> Answer:
    return Response(request.http.app.state.openapi(), media_type="application/json")


async def status(request: ApiRequest) -> Answer:
    service, cluster, past = request.service, request.service.cluster, request.service.past
    history = "off" if past is None else "well" if await past.is_reachable() else "unreachable"
    return {
        "version": service.version,
        "namespaces": None if service.namespaces is None else list(service.namespaces),
        "parts": [
            {"name": name, "well": not found, "problems": found} for name, found in problems(service).items()
        ],
        "history": history,
        "watchers": service.live.listeners,
        "controllers": await cluster.controllers(service.now()),
        "crds": await cluster.crds(),
        "runtimes": cluster.runtimes(),
        "auditWaiting": service.trail.waiting,
    }


async def audit(request: ApiRequest) -> Answer:
    """Rows of the namespaces whose runs the caller may list."""
    visible = await request.visible(LIST_RUNS, required=True)
    if request.service.past is None:
        return {"items": [], "next": None}
    namespaces = sorted(visible) if visible is not None else None
    history = await request.service.past.history()
    rows, following = await list_audit(history, namespaces, request.query.before, request.query.limit)
    return {"items": [{**asdict(row), "at": timestamp(row.at)} for row in rows], "next": following}


async def summary(request: ApiRequest) -> Answer:
    visible = await request.visible(LIST_RUNS)
    rows = [row for row in request.service.live.rows() if visible is None or row["namespace"] in visible]
    runs = Counter(str(row["phase"]) for row in rows)
    return {
        "runs": {str(phase): runs[phase] for phase in Phase},
        "total": len(rows),
        "namespaces": sorted({str(row["namespace"]) for row in rows}),
    }


async def retention(request: ApiRequest) -> Answer:
    """Upcoming deletions, the first one first (GC-4)."""
    visible = await request.visible(LIST_RUNS)
    return {"items": retention_rows(request.service.live, visible)}


async def me(request: ApiRequest) -> Answer:
    service = request.service
    return {
        "name": request.principal.name,
        "namespace": service.namespace,
        "laptop": service.authenticator.sessions is not None,
        "commandPrefix": service.command_prefix,
        "history": service.history_kept
        and {
            "recordSeconds": _whole_seconds(service.history_kept.record),
            "logSeconds": _whole_seconds(service.history_kept.log_tail),
        },
    }


def _whole_seconds(span: timedelta | None) -> int | None:
    return None if span is None else int(span.total_seconds())


async def open_session(request: ApiRequest) -> Answer:
    """Start a session for a page that was opened without the token in its address."""
    sessions = request.service.authenticator.sessions
    if sessions is None:
        raise Problem(
            404, "this server does not support sessions", fix="send your bearer token with each request"
        )
    if not sessions.accepts(request.body.token):
        raise unauthenticated("invalid web UI token")
    answer = JSONResponse({"message": "welcome"})
    answer.set_cookie(sessions.cookie, sessions.new(request.service.now().timestamp()), **COOKIE)
    return answer


async def list_orchestrations(request: ApiRequest) -> Answer:
    visible = await request.visible(LIST_ORCHESTRATIONS)
    namespaces = [None] if visible is None else sorted(visible)
    found = [
        obj
        for namespace in namespaces
        for obj in await get_objects(request.caller, ORCHESTRATIONS, namespace)
    ]
    return {"items": [_orchestration(obj) for obj in found]}


async def show_orchestration(request: ApiRequest) -> Answer:
    namespace, name = request.path["namespace"], request.path["name"]
    (obj,) = await get_objects(request.caller, ORCHESTRATIONS, namespace, [name])
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
    """None for a definition that is not executable."""
    try:
        made = define(OrchestrationSpec.model_validate(obj.get("spec") or {}), compile_condition=compile_when)
    except ValueError:
        return None
    return graph_document(run_graph(made)) if isinstance(made, Definition) else None
