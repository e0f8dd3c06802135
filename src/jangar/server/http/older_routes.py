"""The lines of the table that are routes of the older system."""

from typing import Any, Final

from jangar.server.http import asked, models, older, older_resources, rights
from jangar.server.http.table import Access, Entry, Handler


def _older(method: str, path: str, handler: Handler, access: Access, summary: str, **more: Any) -> Entry:
    """A route of the older system, with its envelope."""
    told = {"query": asked.InNamespace} if method == "GET" else {"status": 201}
    return Entry(
        method=method,
        path=path,
        handler=handler,
        access=access,
        summary=summary,
        answers=models.Envelope,
        **told | more,
    )


ROUTES: Final[tuple[Entry, ...]] = (
    _older(
        "POST",
        "/v1/agents",
        older.create_agent,
        rights.CREATE_AGENT,
        "Create an Agent.",
        body=older.DefinitionBody,
    ),
    _older("GET", "/v1/agents", older.list_agents, rights.LIST_AGENTS, "Agents."),
    _older("GET", "/v1/agents/{name}", older.show_agent, rights.GET_AGENT, "An Agent."),
    _older(
        "POST",
        "/v1/agent-runs",
        older.create_agent_run,
        rights.CREATE_AGENT_RUN,
        "Start an AgentRun.",
        body=older.AgentRunBody,
        headers=asked.KEY,
        needs=frozenset(asked.KEY),
    ),
    _older(
        "GET",
        "/v1/agent-runs",
        older.list_agent_runs,
        rights.LIST_AGENT_RUNS,
        "AgentRuns of an Agent.",
        query=older.OfAgent,
    ),
    _older(
        "GET",
        "/v1/agent-runs/resources",
        older_resources.list_agent_run_resources,
        rights.LIST_AGENT_RUNS,
        "AgentRuns as objects, the newest first.",
        query=older_resources.Listed,
    ),
    _older(
        "PATCH",
        "/v1/agent-runs/resources",
        older_resources.mark_agent_run,
        rights.PATCH_AGENT_RUN,
        "Set labels and annotations of an AgentRun.",
        status=200,
        query=older_resources.Named,
        body=older_resources.MarksBody,
    ),
    _older(
        "GET",
        "/v1/agent-runs/terminal-events",
        older_resources.list_terminal_events,
        rights.LIST_AGENT_RUNS,
        "AgentRuns that have ended, until a consumer has acknowledged each.",
        query=older_resources.Ended,
    ),
    _older(
        "POST",
        "/v1/agent-runs/terminal-events/ack",
        older_resources.ack_terminal_event,
        rights.PATCH_AGENT_RUN,
        "Acknowledge an end for a consumer.",
        status=200,
        body=older_resources.AckBody,
    ),
    _older(
        "GET",
        "/v1/agent-runs/projection-authority",
        older_resources.not_projected,
        rights.LIST_AGENT_RUNS,
        "Not built: refused by name.",
        refuses=(404,),
    ),
    _older(
        "POST",
        "/v1/agent-runs/{id}/reruns",
        older.rerun_agent_run,
        rights.CREATE_AGENT_RUN,
        "Run an ended AgentRun again: one new run for each attempt, however often it is asked for.",
        body=older.RerunBody,
        is_repeatable=True,
    ),
    _older("GET", "/v1/agent-runs/{id}", older.show_agent_run, rights.LIST_AGENT_RUNS, "An AgentRun."),
    _older(
        "POST",
        "/v1/orchestrations",
        older.create_orchestration,
        rights.CREATE_ORCHESTRATION,
        "Create an Orchestration.",
        body=older.DefinitionBody,
    ),
    _older(
        "GET",
        "/v1/orchestrations/{name}",
        older.show_orchestration,
        rights.GET_ORCHESTRATION,
        "An Orchestration.",
    ),
    _older(
        "POST",
        "/v1/orchestration-runs",
        older.create_orchestration_run,
        rights.CREATE_RUN,
        "Start a run of an Orchestration.",
        body=older.OrchestrationRunBody,
        headers=asked.KEY,
        needs=frozenset(asked.KEY),
    ),
    _older(
        "GET",
        "/v1/orchestration-runs",
        older.list_orchestration_runs,
        rights.LIST_RUNS,
        "Runs of an Orchestration.",
        query=older.OfOrchestration,
    ),
    _older(
        "GET",
        "/v1/orchestration-runs/resources",
        older_resources.show_orchestration_run_resource,
        rights.GET_RUN,
        "A run of an Orchestration as an object.",
        query=older_resources.Named,
        refuses=(404,),
    ),
    _older(
        "GET",
        "/v1/orchestration-runs/{id}",
        older.show_orchestration_run,
        rights.LIST_RUNS,
        "A run of an Orchestration.",
    ),
    _older("GET", "/v1/runs/{id}", older.show_any_run, rights.LIST_RUNS, "A run of either kind."),
)
