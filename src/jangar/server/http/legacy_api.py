"""Handlers of the legacy API, with its paths and envelopes, for existing clients.

Its ids were database ids; here they are uids of objects. Every request runs with the caller's permissions.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from jangar.api.agents.implementation import MAX_TEXT
from jangar.operations.agent_runs import (
    AGENT_RUNS,
    AGENTS,
    SPEC_FIELDS,
    AgentRunSubmission,
    rerun_submission,
    submit_agent_run,
)
from jangar.operations.idempotency import Created
from jangar.operations.objects import create_object, get_objects
from jangar.operations.run_reading import ORCHESTRATIONS, RUNS, phase_of
from jangar.operations.submit import RunSubmission, submit_run
from jangar.server.http.problems import Problem
from jangar.server.http.request_models import InNamespace, Name
from jangar.server.http.route import Answer, ApiRequest
from jangar.server.http.run_changes import idempotency_key
from kubekit.client.api_client import Obj
from kubekit.client.resource import Resource


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    namespace: Name | None = None


class NamedRef(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name


class DefinitionBody(_Body):
    """An Agent or Orchestration to create."""

    name: Name
    spec: dict[str, Any]


class OrchestrationRunBody(_Body):
    orchestrationRef: NamedRef  # noqa: N815 - a name of the legacy API
    parameters: dict[str, str] = {}


class AgentRunBody(_Body):
    """An AgentRun to create; its fields are those of the AgentRun's spec."""

    model_config = ConfigDict(extra="allow", frozen=True)

    agentRef: NamedRef  # noqa: N815 - a name of the legacy API


class RerunBody(_Body):
    """Of the older system's fields those that mean something here."""

    attempt: int = Field(ge=1, le=10**6, description="Attempt number; each attempt is created once.")
    prompt: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)] | None = Field(
        None, description="New task text (default: unchanged)."
    )


class OfAgent(InNamespace):
    agent_id: Name = Field(description="Name of the Agent.")


class OfOrchestration(InNamespace):
    orchestration_id: Name = Field(description="Name of the Orchestration.")


async def create_agent(request: ApiRequest) -> Answer:
    return {"ok": True, "agent": await _created(request, AGENTS)}


async def list_agents(request: ApiRequest) -> Answer:
    return {"ok": True, "agents": await get_objects(request.caller, AGENTS, request.namespace)}


async def show_agent(request: ApiRequest) -> Answer:
    return {"ok": True, "agent": await get_named(request, AGENTS)}


async def create_orchestration(request: ApiRequest) -> Answer:
    return {"ok": True, "orchestration": await _created(request, ORCHESTRATIONS)}


async def show_orchestration(request: ApiRequest) -> Answer:
    return {"ok": True, "orchestration": await get_named(request, ORCHESTRATIONS)}


async def get_named(request: ApiRequest, resource: Resource) -> Obj:
    """The object that the path or the query names."""
    name = request.path.get("name") or request.query.name
    (obj,) = await get_objects(request.caller, resource, request.namespace, [name])
    return obj


async def _created(request: ApiRequest, resource: Resource) -> Obj:
    return await create_object(
        request.caller, resource, request.namespace, request.body.name, request.body.spec
    )


async def create_orchestration_run(request: ApiRequest) -> Answer:
    submission = RunSubmission(
        namespace=request.namespace,
        orchestration=request.body.orchestrationRef.name,
        parameters=request.body.parameters,
        key=idempotency_key(request, required=True),
    )
    return _created_run("orchestrationRun", await submit_run(request.caller, submission))


async def list_orchestration_runs(request: ApiRequest) -> Answer:
    selector = f"spec.orchestrationRef.name={request.query.orchestration_id}"
    runs = await get_objects(request.caller, RUNS, request.namespace, fields=selector)
    return {"ok": True, "runs": [_row(run) for run in runs]}


async def show_orchestration_run(request: ApiRequest) -> Answer:
    return _run(await _by_id(request, RUNS))


async def show_agent_run(request: ApiRequest) -> Answer:
    return _run(await _by_id(request, AGENT_RUNS))


async def show_any_run(request: ApiRequest) -> Answer:
    try:
        return {"ok": True, "kind": "orchestration", **_run(await _by_id(request, RUNS))}
    except Problem:
        return {"ok": True, "kind": "agent", **_run(await _by_id(request, AGENT_RUNS))}


def _run(obj: Obj) -> dict[str, Any]:
    return {"ok": True, "run": _row(obj), "resource": obj}


async def create_agent_run(request: ApiRequest) -> Answer:
    fields: Mapping[str, Any] = request.body.model_extra or {}
    unknown = sorted(set(fields) - set(SPEC_FIELDS))
    if unknown:
        raise Problem(
            422, f"unknown fields: {', '.join(unknown)}", fix=f"known fields are {', '.join(SPEC_FIELDS)}"
        )
    submission = AgentRunSubmission(
        namespace=request.namespace,
        agent=request.body.agentRef.name,
        spec=fields,
        key=idempotency_key(request, required=True) or "",
    )
    return _created_run("agentRun", await submit_agent_run(request.caller, submission))


async def rerun_agent_run(request: ApiRequest) -> Answer:
    """The legacy system started a separate orchestration; here the run itself is repeated."""
    parent = await _by_id(request, AGENT_RUNS)
    submission = rerun_submission(parent, request.body.attempt, prompt=request.body.prompt)
    created = await submit_agent_run(request.caller, submission)
    document = {
        "parentRef": parent["metadata"]["uid"],
        "attempt": request.body.attempt,
        "deliveryId": submission.key,
        "status": "submitted",
    }
    return {**_created_run("agentRun", created), "submission": document}


def _created_run(field: str, created: Created) -> dict[str, Any]:
    document = {"ok": True, field: _row(created.run), "resource": created.run}
    return document | ({"idempotent": True} if created.is_repeat else {})


async def list_agent_runs(request: ApiRequest) -> Answer:
    runs = await get_objects(request.caller, AGENT_RUNS, request.namespace)
    agent = request.query.agent_id
    rows = [_row(run) for run in runs if ((run.get("spec") or {}).get("agentRef") or {}).get("name") == agent]
    return {"ok": True, "runs": rows}


async def _by_id(request: ApiRequest, resource: Resource) -> Obj:
    """The object with this uid or name; the last form of a deleted one."""
    caller, namespace, wanted = request.caller, request.namespace, request.path["id"]
    for obj in await get_objects(caller, resource, namespace):
        if wanted in {obj["metadata"]["uid"], obj["metadata"]["name"]}:
            return obj
    past = await caller.history.object(namespace, resource.kind, wanted) if caller.history else None
    if past is not None:
        return past
    raise Problem(404, f"{resource.kind} {wanted} not found in namespace {namespace}")


def _row(obj: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the legacy database."""
    meta, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    named = (spec.get("orchestrationRef") or spec.get("agentRef") or {}).get("name")
    field = "agentName" if obj["kind"] == AGENT_RUNS.kind else "orchestrationName"
    return {
        "id": meta["uid"],
        field: named,
        "deliveryId": spec.get("deliveryId") or spec.get("idempotencyKey"),
        "provider": (spec.get("runtime") or {}).get("type") or "workflow",
        "status": phase_of(obj),
        "externalRunId": meta["name"],
        "payload": {"request": {"namespace": meta["namespace"], "parameters": spec.get("parameters") or {}}},
        "createdAt": meta["creationTimestamp"],
        "updatedAt": status.get("updatedAt") or meta["creationTimestamp"],
    }
