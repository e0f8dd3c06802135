"""Routes of the older system, with its paths and envelopes, for clients that know them.

Its ids were those of database rows; here they are the uids of the objects. Each is done with the rights of the caller.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from jangar.api.agents.implementation import MAX_TEXT
from jangar.operations.agent_runs import AGENT_RUNS, AGENTS, GIVEN, AgentOrder, rerun_of, submit_agent_run
from jangar.operations.idempotency import Made
from jangar.operations.run_reading import ORCHESTRATIONS, RUNS
from jangar.operations.submit import RunSubmission, phase_of, submit
from jangar.server.http.problems import Problem
from jangar.server.http.request_models import InNamespace, Name
from jangar.server.http.run_steering import idempotency_key
from jangar.server.http.table import Answer, Ask
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
    orchestrationRef: NamedRef  # noqa: N815 - the older system's name
    parameters: dict[str, str] = {}


class AgentRunBody(_Body):
    """An AgentRun to create; its fields are those of the AgentRun's spec."""

    model_config = ConfigDict(extra="allow", frozen=True)

    agentRef: NamedRef  # noqa: N815 - the older system's name


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


def place(ask: Ask) -> str:
    """The namespace that the body or the query names, else the usual one."""
    given = getattr(ask.body, "namespace", None) or getattr(ask.query, "namespace", None)
    return given or ask.service.namespace


async def create_agent(ask: Ask) -> Answer:
    return {"ok": True, "agent": await _created(ask, AGENTS)}


async def list_agents(ask: Ask) -> Answer:
    return {"ok": True, "agents": await ask.who.client.list(AGENTS, place(ask))}


async def show_agent(ask: Ask) -> Answer:
    return {"ok": True, "agent": await ask.who.client.get(AGENTS, ask.path["name"], place(ask))}


async def create_orchestration(ask: Ask) -> Answer:
    return {"ok": True, "orchestration": await _created(ask, ORCHESTRATIONS)}


async def show_orchestration(ask: Ask) -> Answer:
    found = await ask.who.client.get(ORCHESTRATIONS, ask.path["name"], place(ask))
    return {"ok": True, "orchestration": found}


async def _created(ask: Ask, resource: Resource) -> Obj:
    meta = {"name": ask.body.name, "namespace": place(ask)}
    made = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": meta,
        "spec": ask.body.spec,
    }
    return await ask.who.client.create(resource, made)


async def create_orchestration_run(ask: Ask) -> Answer:
    made = await submit(
        ask.who.client,
        RunSubmission(
            namespace=place(ask),
            orchestration=ask.body.orchestrationRef.name,
            parameters=ask.body.parameters,
            key=idempotency_key(ask, required=True),
            by=ask.who.name,
        ),
        ask.service.ring,
    )
    reported = {"ok": True, "orchestrationRun": _row(made.run), "resource": made.run}
    return reported | ({"idempotent": True} if made.is_repeat else {})


async def list_orchestration_runs(ask: Ask) -> Answer:
    wanted = f"spec.orchestrationRef.name={ask.query.orchestration_id}"
    found = await ask.who.client.list(RUNS, place(ask), fields=wanted)
    return {"ok": True, "runs": [_row(item) for item in found]}


async def show_orchestration_run(ask: Ask) -> Answer:
    found = await _by_id(ask, RUNS)
    return {"ok": True, "run": _row(found), "resource": found}


async def show_agent_run(ask: Ask) -> Answer:
    found = await _by_id(ask, AGENT_RUNS)
    return {"ok": True, "run": _row(found), "resource": found}


async def show_any_run(ask: Ask) -> Answer:
    try:
        found = await _by_id(ask, RUNS)
        kind = "orchestration"
    except Problem:
        found = await _by_id(ask, AGENT_RUNS)
        kind = "agent"
    return {"ok": True, "kind": kind, "run": _row(found), "resource": found}


async def create_agent_run(ask: Ask) -> Answer:
    given: Mapping[str, Any] = ask.body.model_extra or {}
    unknown = sorted(set(given) - set(GIVEN))
    if unknown:
        raise Problem(
            422, f"unknown fields: {', '.join(unknown)}", fix=f"known fields are {', '.join(GIVEN)}"
        )
    order = AgentOrder(
        namespace=place(ask),
        agent=ask.body.agentRef.name,
        spec=given,
        key=idempotency_key(ask, required=True) or "",
        by=ask.who.name,
    )
    return _made(await submit_agent_run(ask.who.client, order, ask.service.ring))


async def rerun_agent_run(ask: Ask) -> Answer:
    """The older system started an orchestration of its own; here the run itself is repeated."""
    parent = await _by_id(ask, AGENT_RUNS)
    order = rerun_of(parent, ask.body.attempt, prompt=ask.body.prompt, by=ask.who.name)
    made = await submit_agent_run(ask.who.client, order, ask.service.ring)
    submission = {
        "parentRef": parent["metadata"]["uid"],
        "attempt": ask.body.attempt,
        "deliveryId": order.key,
        "status": "submitted",
    }
    return {**_made(made), "submission": submission}


def _made(made: Made) -> dict[str, Any]:
    reported = {"ok": True, "agentRun": _row(made.run), "resource": made.run}
    return reported | ({"idempotent": True} if made.is_repeat else {})


async def list_agent_runs(ask: Ask) -> Answer:
    found = await ask.who.client.list(AGENT_RUNS, place(ask))
    wanted = ask.query.agent_id
    return {
        "ok": True,
        "runs": [
            _row(item)
            for item in found
            if ((item.get("spec") or {}).get("agentRef") or {}).get("name") == wanted
        ],
    }


async def _by_id(ask: Ask, resource: Resource) -> Obj:
    """By uid; names are taken too, for people. Of what is gone, its last form."""
    where, wanted = place(ask), ask.path["id"]
    for item in await ask.who.client.list(resource, where):
        if wanted in {item["metadata"]["uid"], item["metadata"]["name"]}:
            return item
    past = await ask.service.past.object(where, resource.kind, wanted) if ask.service.past else None
    if past is not None:
        return past
    raise Problem(404, f"{resource.kind} {wanted} not found in namespace {where}")


def _row(obj: Mapping[str, Any]) -> dict[str, Any]:
    """As a row of the older database reads."""
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
