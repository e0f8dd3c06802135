"""The table of all routes."""

from typing import Any, Final

from jangar.server.http import control_plane_routes, models, request_models, rights, run_reading, run_steering
from jangar.server.http.kind_reading import ROUTES as KIND_ROUTES
from jangar.server.http.legacy_routes import ROUTES as OLDER_ROUTES
from jangar.server.http.step_reading import ROUTES as STEP_ROUTES
from jangar.server.http.table import KNOWN, OPEN, Access, Entry, Handler

RUN: Final = "/v1/namespaces/{namespace}/runs/{name}"
RESUME: Final = {"Last-Event-ID": "Go on after this event."}


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
    _get("/health", control_plane_routes.health, OPEN, "Whether the process answers.", answers=models.Health),
    _get(
        "/ready",
        control_plane_routes.ready,
        OPEN,
        "Whether all that it needs is there.",
        answers=models.Health,
        refuses=(503,),
    ),
    _get("/metrics", control_plane_routes.metrics, OPEN, "Metrics for Prometheus: counts, no names."),
    _get("/openapi.json", control_plane_routes.describe, OPEN, "This document."),
    _post(
        "/v1/session",
        control_plane_routes.open_session,
        OPEN,
        "On a laptop: open a session of the page with the token that jangar up printed.",
        body=request_models.SessionBody,
        answers=models.Deleted,
        refuses=(401,),
    ),
    _get("/v1/me", control_plane_routes.me, KNOWN, "Who the caller is.", answers=models.Me),
    _get(
        "/v1/summary",
        control_plane_routes.summary,
        KNOWN,
        "Runs by phase.",
        query=request_models.InNamespace,
        answers=models.Summary,
    ),
    _get(
        "/v1/retention",
        control_plane_routes.retention,
        KNOWN,
        "What will be deleted when.",
        query=request_models.InNamespace,
        answers=models.Retention,
    ),
    _get(
        "/v1/audit",
        control_plane_routes.audit,
        KNOWN,
        "Who changed what through this server, the newest first.",
        query=request_models.AuditQuery,
        answers=models.AuditPage,
    ),
    _get(
        "/v1/control-plane/status",
        control_plane_routes.status,
        KNOWN,
        "How the control plane is.",
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
        "An orchestration and its graph.",
        answers=models.OrchestrationDetail,
    ),
)
_RUNS: Final = (
    _get(
        "/v1/runs",
        run_reading.list_runs,
        KNOWN,
        "Runs, live and past as one list, newest first.",
        query=request_models.RunsQuery,
        answers=models.RunPage,
    ),
    _get(
        "/v1/watch",
        run_reading.watch_runs,
        KNOWN,
        "Changes of runs as server-sent events: run, gone, and reset when all must be read again.",
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
    _of_run("", run_reading.show_run, "Everything about a run.", answers=models.RunDetail),
    Entry(
        method="DELETE",
        path=RUN,
        handler=run_steering.delete_run,
        access=rights.DELETE_RUN,
        answers=models.Deleted,
        summary="Stop a run's work and delete it.",
    ),
    _of_run("/object", run_reading.show_object, "The Kubernetes object."),
    _of_run(
        "/watch",
        run_reading.watch_run,
        "A run as server-sent events: run (all of it), change (only changed steps), gone.",
        streams=True,
        headers=RESUME,
    ),
    _of_run("/graph", run_reading.show_graph, "All steps and what each needs.", answers=models.Graph),
    _of_run(
        "/timeline",
        run_reading.show_timeline,
        "A bar for each attempt of each step.",
        answers=models.Timeline,
    ),
    _of_run(
        "/explain",
        run_reading.explain,
        "Why the steps are as they are.",
        query=request_models.StepQuery,
        answers=models.Explained,
    ),
    _of_run("/events", run_reading.show_events, "What was told about a run.", answers=models.Events),
    _get(
        f"{RUN}/logs",
        run_reading.show_logs,
        rights.READ_LOGS,
        "What an attempt of a step wrote; with follow=true as server-sent events line and end.",
        query=request_models.LogsQuery,
        answers=models.Log,
        streams=True,
        headers=RESUME,
    ),
    _steers("/cancel", run_steering.cancel_run, "Stop a run."),
    _steers("/suspend", run_steering.suspend_run, "Start no further step."),
    _steers("/resume", run_steering.resume_run, "Let a suspended run go on."),
    _makes(
        f"{RUN}/retry",
        run_steering.retry_run,
        rights.CREATE_RUN,
        "Repeat an ended run, keeping what succeeded.",
        body=request_models.RetryBody,
        body_optional=True,
        answers=models.Submitted,
    ),
    _makes(
        f"{RUN}/resubmit",
        run_steering.resubmit_run,
        rights.CREATE_RUN,
        "Run it once more from the beginning, as it is defined today.",
        body=request_models.AgainBody,
        body_optional=True,
        answers=models.Submitted,
    ),
    *KIND_ROUTES,
    *STEP_ROUTES,
)

ROUTES: Final[tuple[Entry, ...]] = (*_PLANE, *_RUNS, *OLDER_ROUTES)
