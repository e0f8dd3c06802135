"""Every operation is offered by the command line and the HTTP API, and is tested. Exceptions need a reason."""

import ast
from functools import cache
from pathlib import Path

import pytest

from jangar.cli.app import COMMANDS
from jangar.operations.registry import OPERATIONS
from jangar.server.http.routes import ROUTES

ROOT = Path(__file__).parents[2]
LAYER = "jangar.operations."
SOURCES = {
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts): path
    for folder in ("cli", "server")
    for path in (ROOT / "src" / "jangar" / folder).rglob("*.py")
}
"""Modules of the front ends."""
TESTS = ("tests/unit/operations", "tests/contract/operations", "tests/contract/server")
METHODS = {
    ("session", "logs"): "jangar.operations.step_logs.StepLogs",
    ("live", "changes"): "jangar.operations.live_runs.LiveRuns",
    ("live", "change_event"): "jangar.operations.live_runs.LiveRuns",
    ("cluster", "controllers"): "jangar.operations.cluster_status.ClusterStatus",
}
"""Operations that handlers reach through an object, by the last two names of the call."""
NOT_OFFERED = {
    ("shorten-grace-period", "HTTP"): "deletes pods with the caller's credentials while the client waits",
    ("release-finalizers", "HTTP"): "an administrator runs it when the control plane is stopped",
    ("history", "HTTP"): "deleted runs are part of GET /v1/runs and of every route of a run",
    ("audit", "CLI"): "the audit trail belongs to a control plane; GET /v1/audit returns it",
    ("submit-agent-run", "CLI"): "jangar apply creates AgentRuns from manifests",
    ("mark-agent-run", "CLI"): "for consumers of the legacy API; kubectl label and annotate do the same",
}
WITHOUT_OPERATION = {
    "apiserver": "serves a process",
    "control-plane": "serves a process",
    "node-agent": "serves a process",
    "runner": "runs in the container of an agent",
    "up": "starts the local control plane",
    "down": "stops the local control plane",
    "status": "reads the state of the local process",
    "kubeconfig": "works on local files",
    "doctor": "examines the cluster as a whole",
    "lint": "works on local files",
    "graph": "works on local files",
    "completion": "prints a script",
    "version": "prints versions",
    "GET /health": "state of the process",
    "GET /ready": "state of the process",
    "GET /metrics": "state of the process",
    "GET /openapi.json": "describes the API",
    "POST /v1/session": "authentication",
    "GET /v1/me": "authentication",
    "GET /v1/summary": "counts cached rows of runs",
    "GET /v1/control-plane/summary": "counts cached rows of runs",
    "GET /v1/kinds": "describes the API",
    "GET /v1/kinds/{kind}": "describes the API",
    "GET /v1/agent-runs/projection-authority": "always rejected",
}


@cache
def definitions(module):
    """Top-level functions of a module, and its imports by alias."""
    tree = ast.parse(SOURCES[module].read_text())
    own = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    return own, imports(tree.body)


def imports(nodes):
    found = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
    return found


def reached(module, name, seen=None):
    """Full names of everything in the operation layer that a function of a front end uses, directly or not."""
    seen = set() if seen is None else seen
    if (module, name) in seen:
        return set()
    seen.add((module, name))
    own, aliases = definitions(module)
    if name not in own:
        return follow(*aliases[name], seen) if name in aliases else set()
    nodes = list(ast.walk(own[name]))
    aliases = aliases | imports(nodes)
    found = set()
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=attribute):
                if (owner, attribute) in METHODS:
                    found.add(METHODS[owner, attribute])
                if owner in aliases:
                    found |= follow(".".join(aliases[owner]), attribute, seen)
            case ast.Name(id=used) if used in aliases:
                found |= follow(*aliases[used], seen)
            case ast.Name(id=used) if used in own:
                found |= reached(module, used, seen)
    return found


def follow(module, name, seen):
    if f"{module}.".startswith(LAYER):
        return {f"{module}.{name}"}
    return reached(module, name, seen) if module in SOURCES else set()


def inner(command):
    """The function as it is written, without decorators."""
    return getattr(command, "__wrapped__", command)


VERBS = {name: reached(inner(command).__module__, inner(command).__name__) for name, command, _ in COMMANDS}
REQUESTS = {
    f"{route.method} {route.path}": reached(route.handler.__module__, route.handler.__name__)
    for route in ROUTES
}
FRONTENDS = {"CLI": VERBS, "HTTP": REQUESTS}


def full_names(operation):
    return {f"{function.__module__}.{function.__qualname__}" for function in operation.functions}


@pytest.mark.parametrize("frontend", FRONTENDS)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_operation_is_offered(operation, frontend):
    """By a command and a route, unless the table gives a reason; the table has no entry without need."""
    is_offered = any(full_names(operation) & names for names in FRONTENDS[frontend].values())
    assert is_offered is ((operation.name, frontend) not in NOT_OFFERED)


@pytest.mark.parametrize(("name", "names"), [*VERBS.items(), *REQUESTS.items()])
def test_every_command_and_route_calls_an_operation(name, names):
    """Front ends contain no logic of their own, unless the table gives a reason."""
    known = set().union(*(full_names(operation) for operation in OPERATIONS))
    assert bool(names & known) is (name not in WITHOUT_OPERATION)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_operation_has_tests(operation):
    """A test of the layer uses each of its functions."""
    text = "\n".join(path.read_text() for folder in TESTS for path in (ROOT / folder).rglob("test_*.py"))
    assert [item.__name__ for item in operation.functions if f"{item.__name__}(" not in text] == []
