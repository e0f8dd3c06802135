"""The table of all routes."""

from typing import Any, Final

from jangar.server.http import control_plane_routes, models, request_models, rights, run_reading, run_steering
from jangar.server.http.kind_reading import ROUTES as KIND_ROUTES
from jangar.server.http.legacy_routes import ROUTES as OLDER_ROUTES
from jangar.server.http.step_reading import ROUTES as STEP_ROUTES
from jangar.server.http.table import KNOWN, OPEN, Access, Entry, Handler

RUN: Final = "/v1/namespaces/{namespace}/runs/{name}"
RESUME: Final = {"Last-Event-ID": "Resume after this event."}


def _get(path: str, handler: Handler, access: Access, summary: str, **more: Any) -> Entry:
    return Entry(method="GET", path=path, handler=handler, access=access, summary=summary, **more)


def _post(path: str, handler: Handler, access: Access, summary: str, **more: Any) -> Entry:
    return Entry(method="POST", path=path, handler=handler, access=access, summary=summary, **more)


def _of_run(part: str, handler: Handler, summary: str, **more: Any) -> Entry:
    """Something to read about a run, also one that is history."""
    return _get(f"{RUN}{part}", handler, rights.GET_RUN, summary, **{"query": request_models.OneRun} | more)


def _makes(path: str, handler: Handler, access: Access, summary: str, **more: Any) -> Entry:
    return _post(path, handler, access, summary, status=201, **more)


def _steers(part: str, handler: Handler, summary: str) -> Entry:
    return _post(f"{RUN}{part}", handler, rights.PATCH_RUN, summary, answers=models.Steered)


_PLANE: Final = (
    _get("/health", control_plane_routes.health, OPEN, "Liveness check.", answers=models.Health),
    _get(
        "/ready",
        control_plane_routes.ready,
        OPEN,
        "Readiness check.",
        answers=models.Health,
        refuses=(503,),
    ),
    _get("/metrics", control_plane_routes.metrics, OPEN, "Prometheus metrics, without object names."),
    _get("/openapi.json", control_plane_routes.describe, OPEN, "This document."),
    _post(
        "/v1/session",
        control_plane_routes.open_session,
        OPEN,
        "Open a web UI session with the token that jangar up printed (local control plane only).",
        body=request_models.SessionBody,
        answers=models.Deleted,
        refuses=(401,),
    ),
    _get("/v1/me", control_plane_routes.me, KNOWN, "Get the caller's identity.", answers=models.Me),
    _get(
        "/v1/summary",
        control_plane_routes.summary,
        KNOWN,
        "Count runs by phase.",
        query=request_models.InNamespace,
        answers=models.Summary,
    ),
    _get(
        "/v1/retention",
        control_plane_routes.retention,
        KNOWN,
        "List upcoming deletions.",
        query=request_models.InNamespace,
        answers=models.Retention,
    ),
    _get(
        "/v1/audit",
        control_plane_routes.audit,
        KNOWN,
        "List the audit log, newest first.",
        query=request_models.AuditQuery,
        answers=models.AuditPage,
    ),
    _get(
        "/v1/control-plane/status",
        control_plane_routes.status,
        KNOWN,
        "Get the status of the control plane.",
        answers=models.ControlPlane,
    ),
    _get(
        "/v1/control-plane/summary",
        control_plane_routes.summary,
        KNOWN,
        "The same as /v1/summary.",
        query=request_models.InNamespace,
        answers=models.Summary,
    ),
    _get(
        "/v1/orchestrations",
        control_plane_routes.list_orchestrations,
        KNOWN,
        "Orchestrations.",
        query=request_models.InNamespace,
        answers=models.Orchestrations,
    ),
    _get(
        "/v1/namespaces/{namespace}/orchestrations/{name}",
        control_plane_routes.show_orchestration,
        rights.GET_ORCHESTRATION,
        "Get an orchestration and its graph.",
        answers=models.OrchestrationDetail,
    ),
)
_RUNS: Final = (
    _get(
        "/v1/runs",
        run_reading.list_runs,
        KNOWN,
        "List live and past runs, newest first.",
        query=request_models.RunsQuery,
        answers=models.RunPage,
    ),
    _get(
        "/v1/watch",
        run_reading.watch_runs,
        KNOWN,
        "Watch runs as server-sent events: run, gone, and reset when the client must list again.",
        query=request_models.InNamespace,
        streams=True,
        headers=RESUME,
    ),
    _makes(
        "/v1/namespaces/{namespace}/runs",
        run_steering.submit_run,
        rights.CREATE_RUN,
        "Start a run.",
        body=request_models.SubmitBody,
        answers=models.Submitted,
        headers=request_models.KEY,
    ),
    _of_run("", run_reading.show_run, "Get a run.", answers=models.RunDetail),
    Entry(
        method="DELETE",
        path=RUN,
        handler=run_steering.delete_run,
        access=rights.DELETE_RUN,
        answers=models.Deleted,
        summary="Stop the work of a run and delete it.",
    ),
    _of_run("/object", run_reading.show_object, "Get the Kubernetes object of a run."),
    _of_run(
        "/watch",
        run_reading.watch_run,
        "Watch a run as server-sent events: run (complete), change (only changed steps), gone.",
        streams=True,
        headers=RESUME,
    ),
    _of_run("/graph", run_reading.show_graph, "Get all steps and their dependencies.", answers=models.Graph),
    _of_run(
        "/timeline",
        run_reading.show_timeline,
        "Get the timeline: one bar per attempt of each step.",
        answers=models.Timeline,
    ),
    _of_run(
        "/explain",
        run_reading.explain,
        "Explain the state of the steps.",
        query=request_models.StepQuery,
        answers=models.Explained,
    ),
    _of_run("/events", run_reading.show_events, "List the events of a run.", answers=models.Events),
    _get(
        f"{RUN}/logs",
        run_reading.show_logs,
        rights.READ_LOGS,
        "Get the log of a step attempt; with follow=true as server-sent events line and end.",
        query=request_models.LogsQuery,
        answers=models.Log,
        streams=True,
        headers=RESUME,
    ),
    _steers("/cancel", run_steering.cancel_run, "Cancel a run."),
    _steers("/suspend", run_steering.suspend_run, "Suspend a run: no further step starts."),
    _steers("/resume", run_steering.resume_run, "Resume a suspended run."),
    _makes(
        f"{RUN}/retry",
        run_steering.retry_run,
        rights.CREATE_RUN,
        "Retry an ended run, keeping the steps that succeeded.",
        body=request_models.RetryBody,
        body_optional=True,
        answers=models.Submitted,
    ),
    _makes(
        f"{RUN}/resubmit",
        run_steering.resubmit_run,
        rights.CREATE_RUN,
        "Resubmit: run the current definition again from the beginning.",
        body=request_models.AgainBody,
        body_optional=True,
        answers=models.Submitted,
    ),
    *KIND_ROUTES,
    *STEP_ROUTES,
)

ROUTES: Final[tuple[Entry, ...]] = (*_PLANE, *_RUNS, *OLDER_ROUTES)
