"""The lines of the table that are routes of the older system."""

from typing import Any, Final

from jangar.server.http import legacy_api, legacy_resources, models, request_models, rights
from jangar.server.http.table import Access, Entry, Handler


def _older(method: str, path: str, handler: Handler, access: Access, summary: str, **more: Any) -> Entry:
    """A route of the older system, with its envelope."""
    reported = {"query": request_models.InNamespace} if method == "GET" else {"status": 201}
    return Entry(
        method=method,
        path=path,
        handler=handler,
        access=access,
        summary=summary,
        answers=models.Envelope,
        **reported | more,
    )


ROUTES: Final[tuple[Entry, ...]] = (
    _older(
        "POST",
        "/v1/agents",
        legacy_api.create_agent,
        rights.CREATE_AGENT,
        "Create an Agent.",
        body=legacy_api.DefinitionBody,
    ),
    _older("GET", "/v1/agents", legacy_api.list_agents, rights.LIST_AGENTS, "Agents."),
    _older("GET", "/v1/agents/{name}", legacy_api.show_agent, rights.GET_AGENT, "An Agent."),
    _older(
        "POST",
        "/v1/agent-runs",
        legacy_api.create_agent_run,
        rights.CREATE_AGENT_RUN,
        "Start an AgentRun.",
        body=legacy_api.AgentRunBody,
        headers=request_models.KEY,
        needs=frozenset(request_models.KEY),
    ),
    _older(
        "GET",
        "/v1/agent-runs",
        legacy_api.list_agent_runs,
        rights.LIST_AGENT_RUNS,
        "List AgentRuns of an Agent.",
        query=legacy_api.OfAgent,
    ),
    _older(
        "GET",
        "/v1/agent-runs/resources",
        legacy_resources.list_agent_run_resources,
        rights.LIST_AGENT_RUNS,
        "List AgentRun objects, newest first.",
        query=legacy_resources.Listed,
    ),
    _older(
        "PATCH",
        "/v1/agent-runs/resources",
        legacy_resources.mark_agent_run,
        rights.PATCH_AGENT_RUN,
        "Set labels and annotations of an AgentRun.",
        status=200,
        query=legacy_resources.Named,
        body=legacy_resources.MarksBody,
    ),
    _older(
        "GET",
        "/v1/agent-runs/terminal-events",
        legacy_resources.list_terminal_events,
        rights.LIST_AGENT_RUNS,
        "List ended AgentRuns that a consumer has not acknowledged.",
        query=legacy_resources.Ended,
    ),
    _older(
        "POST",
        "/v1/agent-runs/terminal-events/ack",
        legacy_resources.ack_terminal_event,
        rights.PATCH_AGENT_RUN,
        "Acknowledge a terminal event for a consumer.",
        status=200,
        body=legacy_resources.AckBody,
    ),
    _older(
        "GET",
        "/v1/agent-runs/projection-authority",
        legacy_resources.not_projected,
        rights.LIST_AGENT_RUNS,
        "Not implemented.",
        refuses=(404,),
    ),
    _older(
        "POST",
        "/v1/agent-runs/{id}/reruns",
        legacy_api.rerun_agent_run,
        rights.CREATE_AGENT_RUN,
        "Run an ended AgentRun again. Idempotent: one new run per attempt number.",
        body=legacy_api.RerunBody,
        is_repeatable=True,
    ),
    _older("GET", "/v1/agent-runs/{id}", legacy_api.show_agent_run, rights.LIST_AGENT_RUNS, "An AgentRun."),
    _older(
        "POST",
        "/v1/orchestrations",
        legacy_api.create_orchestration,
        rights.CREATE_ORCHESTRATION,
        "Create an Orchestration.",
        body=legacy_api.DefinitionBody,
    ),
    _older(
        "GET",
        "/v1/orchestrations/{name}",
        legacy_api.show_orchestration,
        rights.GET_ORCHESTRATION,
        "An Orchestration.",
    ),
    _older(
        "POST",
        "/v1/orchestration-runs",
        legacy_api.create_orchestration_run,
        rights.CREATE_RUN,
        "Start a run of an Orchestration.",
        body=legacy_api.OrchestrationRunBody,
        headers=request_models.KEY,
        needs=frozenset(request_models.KEY),
    ),
    _older(
        "GET",
        "/v1/orchestration-runs",
        legacy_api.list_orchestration_runs,
        rights.LIST_RUNS,
        "List runs of an Orchestration.",
        query=legacy_api.OfOrchestration,
    ),
    _older(
        "GET",
        "/v1/orchestration-runs/resources",
        legacy_resources.show_orchestration_run_resource,
        rights.GET_RUN,
        "Get the object of an Orchestration's run.",
        query=legacy_resources.Named,
        refuses=(404,),
    ),
    _older(
        "GET",
        "/v1/orchestration-runs/{id}",
        legacy_api.show_orchestration_run,
        rights.LIST_RUNS,
        "Get a run of an Orchestration.",
    ),
    _older(
        "GET",
        "/v1/runs/{id}",
        legacy_api.show_any_run,
        rights.LIST_RUNS,
        "Get an AgentRun or OrchestrationRun.",
    ),
)
