"""The one way in for AgentRuns: new ones, and ones that repeat others. Each has a key, and is made once for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from jangar.api.agents.agent import AGENT
from jangar.api.agents.agentrun import AGENT_RUN
from jangar.controllers.resources import CREATED_BY, resource_of
from jangar.operations.idempotency import DELIVERY_ID, KeyRing, Made, label_of, make_once, named_by
from jangar.operations.refusals import Refused, Why
from jangar.operations.submit import is_over, phase_of
from kubekit.client.errors import NotFound

if TYPE_CHECKING:
    from kubekit.client.api_client import Client

AGENTS: Final = resource_of(AGENT)
AGENT_RUNS: Final = resource_of(AGENT_RUN)
RERUN_OF: Final = "jangar.proompteng.ai/rerun-of"
"""Annotation: the uid of the run that this one repeats."""
GIVEN: Final = (
    "implementationSpecRef",
    "implementation",
    "runtime",
    "workflow",
    "workload",
    "memoryRef",
    "vcsRef",
    "vcsPolicy",
    "parameters",
    "secrets",
    "goal",
    "systemPrompt",
    "systemPromptRef",
    "ttlSecondsAfterFinished",
)
"""Fields of a run's spec that a client may set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOrder:
    """An AgentRun that somebody wants."""

    namespace: str
    agent: str
    spec: Mapping[str, Any]
    key: str
    by: str | None = None
    rerun_of: str | None = None


async def submit_agent_run(client: "Client", order: AgentOrder, ring: KeyRing | None = None) -> Made:
    """Make the run. Raises Refused, and what the API says."""
    try:
        await client.get(AGENTS, order.agent, order.namespace)
    except NotFound as error:
        message = f"Agent {order.agent} not found in {order.namespace}: apply it first"
        raise Refused(message, Why.MISSING) from error
    notes = {CREATED_BY: order.by, RERUN_OF: order.rerun_of}
    wanted = {
        "apiVersion": AGENT_RUNS.api_version,
        "kind": AGENT_RUNS.kind,
        "metadata": {
            "name": named_by(order.key),
            "namespace": order.namespace,
            "labels": {DELIVERY_ID: label_of(order.key, fits=False)},
            "annotations": {name: text for name, text in notes.items() if text},
        },
        "spec": {"agentRef": {"name": order.agent}, "idempotencyKey": order.key, **order.spec},
    }
    return await make_once(client, AGENT_RUNS, wanted, key=order.key, field="idempotencyKey", ring=ring)


def rerun_of(
    parent: Mapping[str, Any], attempt: int, *, prompt: str | None = None, by: str | None = None
) -> AgentOrder:
    """The run that repeats an ended one (DAG-16): one for each parent and attempt, however often it is asked for."""
    meta, spec = parent["metadata"], parent.get("spec") or {}
    if not is_over(parent):
        message = f"{meta['name']} is {phase_of(parent)}: only an ended AgentRun can run again"
        raise Refused(message, Why.STATE)
    given = {name: spec[name] for name in (*GIVEN, "onJobMissing") if name in spec}
    if prompt is not None:
        given.pop("implementationSpecRef", None)
        inline = (given.get("implementation") or {}).get("inline") or {}
        given["implementation"] = {"inline": {**inline, "text": prompt}}
    return AgentOrder(
        namespace=meta["namespace"],
        agent=spec["agentRef"]["name"],
        spec=given,
        key=f"rerun/{meta['uid']}/{attempt}",
        by=by,
        rerun_of=meta["uid"],
    )
