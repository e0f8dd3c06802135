"""The Kubernetes permissions (verb and resource) that routes need."""

from typing import Final

from jangar.api.agents.agent import AGENT
from jangar.api.agents.agentrun import AGENT_RUN
from jangar.api.kind import Kind
from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN
from jangar.server.http.identity import Right


def _right(verb: str, kind: Kind) -> Right:
    return Right(verb, kind.group, kind.plural)


LIST_RUNS: Final = _right("list", ORCHESTRATION_RUN)
GET_RUN: Final = _right("get", ORCHESTRATION_RUN)
CREATE_RUN: Final = _right("create", ORCHESTRATION_RUN)
PATCH_RUN: Final = _right("patch", ORCHESTRATION_RUN)
DELETE_RUN: Final = _right("delete", ORCHESTRATION_RUN)
LIST_ORCHESTRATIONS: Final = _right("list", ORCHESTRATION)
GET_ORCHESTRATION: Final = _right("get", ORCHESTRATION)
CREATE_ORCHESTRATION: Final = _right("create", ORCHESTRATION)
GET_AGENT: Final = _right("get", AGENT)
LIST_AGENTS: Final = _right("list", AGENT)
CREATE_AGENT: Final = _right("create", AGENT)
LIST_AGENT_RUNS: Final = _right("list", AGENT_RUN)
GET_AGENT_RUN: Final = _right("get", AGENT_RUN)
CREATE_AGENT_RUN: Final = _right("create", AGENT_RUN)
PATCH_AGENT_RUN: Final = _right("patch", AGENT_RUN)
LIST_EVENTS: Final = Right("list", "", "events")
READ_LOGS: Final = Right("get", "", "pods", "log")
