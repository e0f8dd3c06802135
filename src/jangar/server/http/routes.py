"""The table of all routes: the API, and the legacy API with its envelopes."""

from typing import Any, Final

from jangar.server.http import (
    control_plane_routes,
    legacy_api,
    legacy_resources,
    models,
    request_models,
    rights,
    run_changes,
    run_reading,
)
from jangar.server.http.object_routes import ROUTES as OBJECT_ROUTES
from jangar.server.http.route import KNOWN, OPEN, Access, ApiRoute, Handler

RUN: Final = "/v1/namespaces/{namespace}/runs/{name}"
RESUME: Final = {"Last-Event-ID": "Resume after this event."}


def _get(path: str, handler: Handler, access: Access, summary: str, **more: Any) -> ApiRoute:
    return ApiRoute(method="GET", path=path, handler=handler, access=access, summary=summary, **more)


def _post(path: str, handler: Handler, access: Access, summary: str, **more: Any) -> ApiRoute:
    return ApiRoute(method="POST", path=path, handler=handler, access=access, summary=summary, **more)


def _of_run(part: str, handler: Handler, summary: str, **more: Any) -> ApiRoute:
    """A part of a run, which may be deleted."""
    return _get(f"{RUN}{part}", handler, rights.GET_RUN, summary, **{"query": request_models.OneRun} | more)


def _creates(path: str, handler: Handler, access: Access, summary: str, **more: Any) -> ApiRoute:
    return _post(path, handler, access, summary, status=201, **more)


def _changes(part: str, handler: Handler, summary: str) -> ApiRoute:
    return _post(f"{RUN}{part}", handler, rights.PATCH_RUN, summary, answers=models.Steered)


def _legacy(method: str, path: str, handler: Handler, access: Access, summary: str, **more: Any) -> ApiRoute:
    """A route of the legacy API, whose responses have an envelope."""
    defaults = {"query": request_models.InNamespace} if method == "GET" else {"status": 201}
    return ApiRoute(
        method=method,
        path=path,
        handler=handler,
        access=access,
        summary=summary,
        answers=models.Envelope,
        **defaults | more,
    )


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
    _creates(
        "/v1/namespaces/{namespace}/runs",
        run_changes.submit_run,
        rights.CREATE_RUN,
        "Start a run.",
        body=request_models.SubmitBody,
        answers=models.Submitted,
        headers=request_models.KEY,
    ),
    _of_run("", run_reading.show_run, "Get a run.", answers=models.RunDetail),
    ApiRoute(
        method="DELETE",
        path=RUN,
        handler=run_changes.delete_run,
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
    _changes("/cancel", run_changes.cancel_run, "Cancel a run."),
    _changes("/suspend", run_changes.suspend_run, "Suspend a run: no further step starts."),
    _changes("/resume", run_changes.resume_run, "Resume a suspended run."),
    _creates(
        f"{RUN}/retry",
        run_changes.retry_run,
        rights.CREATE_RUN,
        "Retry an ended run, keeping the steps that succeeded.",
        body=request_models.RetryBody,
        body_optional=True,
        answers=models.Submitted,
    ),
    _creates(
        f"{RUN}/resubmit",
        run_changes.resubmit_run,
        rights.CREATE_RUN,
        "Resubmit: run the current definition again from the beginning.",
        body=request_models.AgainBody,
        body_optional=True,
        answers=models.Submitted,
    ),
    *OBJECT_ROUTES,
)

_LEGACY: Final = (
    _legacy(
        "POST",
        "/v1/agents",
        legacy_api.create_agent,
        rights.CREATE_AGENT,
        "Create an Agent.",
        body=legacy_api.DefinitionBody,
    ),
    _legacy("GET", "/v1/agents", legacy_api.list_agents, rights.LIST_AGENTS, "Agents."),
    _legacy("GET", "/v1/agents/{name}", legacy_api.show_agent, rights.GET_AGENT, "An Agent."),
    _legacy(
        "POST",
        "/v1/agent-runs",
        legacy_api.create_agent_run,
        rights.CREATE_AGENT_RUN,
        "Start an AgentRun.",
        body=legacy_api.AgentRunBody,
        headers=request_models.KEY,
        needs=frozenset(request_models.KEY),
    ),
    _legacy(
        "GET",
        "/v1/agent-runs",
        legacy_api.list_agent_runs,
        rights.LIST_AGENT_RUNS,
        "List AgentRuns of an Agent.",
        query=legacy_api.OfAgent,
    ),
    _legacy(
        "GET",
        "/v1/agent-runs/resources",
        legacy_resources.list_agent_run_resources,
        rights.LIST_AGENT_RUNS,
        "List AgentRun objects, newest first.",
        query=legacy_resources.Listed,
    ),
    _legacy(
        "PATCH",
        "/v1/agent-runs/resources",
        legacy_resources.mark_agent_run,
        rights.PATCH_AGENT_RUN,
        "Set labels and annotations of an AgentRun.",
        status=200,
        query=legacy_resources.Named,
        body=legacy_resources.MarksBody,
    ),
    _legacy(
        "GET",
        "/v1/agent-runs/terminal-events",
        legacy_resources.list_terminal_events,
        rights.LIST_AGENT_RUNS,
        "List ended AgentRuns that a consumer has not acknowledged.",
        query=legacy_resources.Ended,
    ),
    _legacy(
        "POST",
        "/v1/agent-runs/terminal-events/ack",
        legacy_resources.ack_terminal_event,
        rights.PATCH_AGENT_RUN,
        "Acknowledge a terminal event for a consumer.",
        status=200,
        body=legacy_resources.AckBody,
    ),
    _legacy(
        "GET",
        "/v1/agent-runs/projection-authority",
        legacy_resources.not_projected,
        rights.LIST_AGENT_RUNS,
        "Not implemented.",
        refuses=(404,),
    ),
    _legacy(
        "POST",
        "/v1/agent-runs/{id}/reruns",
        legacy_api.rerun_agent_run,
        rights.CREATE_AGENT_RUN,
        "Run an ended AgentRun again. Idempotent: one new run per attempt number.",
        body=legacy_api.RerunBody,
        is_repeatable=True,
    ),
    _legacy("GET", "/v1/agent-runs/{id}", legacy_api.show_agent_run, rights.LIST_AGENT_RUNS, "An AgentRun."),
    _legacy(
        "POST",
        "/v1/orchestrations",
        legacy_api.create_orchestration,
        rights.CREATE_ORCHESTRATION,
        "Create an Orchestration.",
        body=legacy_api.DefinitionBody,
    ),
    _legacy(
        "GET",
        "/v1/orchestrations/{name}",
        legacy_api.show_orchestration,
        rights.GET_ORCHESTRATION,
        "An Orchestration.",
    ),
    _legacy(
        "POST",
        "/v1/orchestration-runs",
        legacy_api.create_orchestration_run,
        rights.CREATE_RUN,
        "Start a run of an Orchestration.",
        body=legacy_api.OrchestrationRunBody,
        headers=request_models.KEY,
        needs=frozenset(request_models.KEY),
    ),
    _legacy(
        "GET",
        "/v1/orchestration-runs",
        legacy_api.list_orchestration_runs,
        rights.LIST_RUNS,
        "List runs of an Orchestration.",
        query=legacy_api.OfOrchestration,
    ),
    _legacy(
        "GET",
        "/v1/orchestration-runs/resources",
        legacy_resources.show_orchestration_run_resource,
        rights.GET_RUN,
        "Get the object of an Orchestration's run.",
        query=legacy_resources.Named,
        refuses=(404,),
    ),
    _legacy(
        "GET",
        "/v1/orchestration-runs/{id}",
        legacy_api.show_orchestration_run,
        rights.LIST_RUNS,
        "Get a run of an Orchestration.",
    ),
    _legacy(
        "GET",
        "/v1/runs/{id}",
        legacy_api.show_any_run,
        rights.LIST_RUNS,
        "Get an AgentRun or OrchestrationRun.",
    ),
)

ROUTES: Final[tuple[ApiRoute, ...]] = (*_PLANE, *_RUNS, *_LEGACY)
