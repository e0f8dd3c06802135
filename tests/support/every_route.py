"""Every route of the table with a request that is valid except for its caller: no route can be left out."""

from jangar.server.http.identity import Right
from jangar.server.http.route import OPEN, ApiRoute
from jangar.server.http.routes import ROUTES

GUARDED = [entry for entry in ROUTES if entry.access is not OPEN]
OF_NO_NAMESPACE = {"/v1/me", "/v1/control-plane/status", "/v1/kinds", "/v1/kinds/{kind}"}
"""Open to all authenticated callers: they return nothing about objects."""
PLACED = [entry for entry in GUARDED if entry.path not in OF_NO_NAMESPACE]


def address(entry: ApiRoute, namespace: str, name: str) -> str:
    """With the namespace if the route takes it."""
    parts = {"{namespace}": namespace, "{name}": name, "{id}": name, "{kind}": "OrchestrationRun"}
    path = entry.path
    for part, value in parts.items():
        path = path.replace(part, value)
    query = {
        "agent_id": "agentId=a",
        "orchestration_id": "orchestrationId=greeting",
        "step": "step=wait",
        "name": f"name={name}",
        "namespace": f"namespace={namespace}",
    }
    reported = [text for field, text in query.items() if field in entry.query.model_fields]
    return f"{path}?{'&'.join(reported)}" if reported else path


def body_of(entry: ApiRoute, namespace: str) -> dict | None:
    bodies = {
        "/v1/agents": {"name": "a", "spec": {}},
        "/v1/orchestrations": {"name": "a", "spec": {}},
        "/v1/agent-runs": {"agentRef": {"name": "a"}},
        "/v1/orchestration-runs": {"orchestrationRef": {"name": "greeting"}},
        "/v1/agent-runs/{id}/reruns": {"attempt": 1},
    }
    if entry.path.endswith("/ack"):
        return {"eventId": f"{namespace}/a/uid/Succeeded", "consumer": "test"}
    if entry.body is None:
        return None
    return bodies[entry.path] | {"namespace": namespace} if entry.path in bodies else {}


def wanted(entry: ApiRoute) -> str:
    """The permission that an error must name."""
    if isinstance(entry.access, Right):
        return str(entry.access)
    return "may not get" if "{name}" in entry.path else "may not list"
