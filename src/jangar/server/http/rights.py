"""The Kubernetes permissions (verb and resource) that routes need."""

from typing import Final

from jangar.api.agents.agent import AGENT
from jangar.api.agents.agentrun import AGENT_RUN
from jangar.api.kind import Kind
from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN
from jangar.server.http.identity import Right


def _rights(kind: Kind, *verbs: str) -> tuple[Right, ...]:
    return tuple(Right(verb, kind.group, kind.plural) for verb in verbs)


LIST_RUNS, GET_RUN, CREATE_RUN, PATCH_RUN, DELETE_RUN = _rights(
    ORCHESTRATION_RUN, "list", "get", "create", "patch", "delete"
)
LIST_ORCHESTRATIONS, GET_ORCHESTRATION, CREATE_ORCHESTRATION = _rights(ORCHESTRATION, "list", "get", "create")
LIST_AGENTS, GET_AGENT, CREATE_AGENT = _rights(AGENT, "list", "get", "create")
LIST_AGENT_RUNS, CREATE_AGENT_RUN, PATCH_AGENT_RUN = _rights(AGENT_RUN, "list", "create", "patch")
LIST_EVENTS: Final = Right("list", "", "events")
READ_LOGS: Final = Right("get", "", "pods", "log")
