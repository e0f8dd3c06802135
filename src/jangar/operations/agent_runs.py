"""Creates AgentRuns, new ones and reruns, once per idempotency key, and records acknowledgements of ended ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from jangar.api.agents.agent import AGENT
from jangar.api.agents.agentrun import AGENT_RUN
from jangar.controllers.resources import resource_of
from jangar.operations.caller import Caller
from jangar.operations.idempotency import DELIVERY_ID, Created, create_once, label_of_key, name_of_key
from jangar.operations.refusals import ErrorKind, Refused
from jangar.operations.run_reading import is_over, phase_of
from jangar.operations.submit import with_creator
from kubekit.client.api_client import Obj, PatchKind
from kubekit.client.errors import NotFound

AGENTS: Final = resource_of(AGENT)
AGENT_RUNS: Final = resource_of(AGENT_RUN)
RERUN_OF: Final = "jangar.proompteng.ai/rerun-of"
"""Annotation: the uid of the run that this one repeats."""
SPEC_FIELDS: Final = (
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
class AgentRunSubmission:
    """A request for a new AgentRun."""

    namespace: str
    agent: str
    spec: Mapping[str, Any]
    key: str
    rerun_of: str | None = None


async def submit_agent_run(caller: Caller, submission: AgentRunSubmission) -> Created:
    """Create the AgentRun once. Raises Refused and the API's errors."""
    try:
        await caller.client.get(AGENTS, submission.agent, submission.namespace)
    except NotFound as error:
        message = f"Agent {submission.agent} not found in {submission.namespace}: apply it first"
        raise Refused(message, ErrorKind.MISSING) from error
    run: Obj = {
        "apiVersion": AGENT_RUNS.api_version,
        "kind": AGENT_RUNS.kind,
        "metadata": {
            "name": name_of_key(submission.key),
            "namespace": submission.namespace,
            "labels": {DELIVERY_ID: label_of_key(submission.key, fits=False)},
            "annotations": {RERUN_OF: submission.rerun_of} if submission.rerun_of else {},
        },
        "spec": {
            "agentRef": {"name": submission.agent},
            "idempotencyKey": submission.key,
            **submission.spec,
        },
    }
    wanted = with_creator(run, caller.name)
    return await create_once(caller, AGENT_RUNS, wanted, key=submission.key, field="idempotencyKey")


def rerun_submission(
    parent: Mapping[str, Any], attempt: int, *, prompt: str | None = None
) -> AgentRunSubmission:
    """The submission that repeats an ended AgentRun (DAG-16), once per parent and attempt. Raises Refused."""
    meta, spec = parent["metadata"], parent.get("spec") or {}
    if not is_over(parent):
        message = f"{meta['name']} is {phase_of(parent)}: only an ended AgentRun can run again"
        raise Refused(message, ErrorKind.CONFLICT)
    fields = {name: spec[name] for name in (*SPEC_FIELDS, "onJobMissing") if name in spec}
    if prompt is not None:
        fields.pop("implementationSpecRef", None)
        inline = (fields.get("implementation") or {}).get("inline") or {}
        fields["implementation"] = {"inline": {**inline, "text": prompt}}
    return AgentRunSubmission(
        namespace=meta["namespace"],
        agent=spec["agentRef"]["name"],
        spec=fields,
        key=f"rerun/{meta['uid']}/{attempt}",
        rerun_of=meta["uid"],
    )


async def mark_agent_run(caller: Caller, run: Obj, **metadata: Mapping[str, str | None]) -> Obj:
    """Set `labels` and `annotations` of this very AgentRun; None removes one."""
    meta = run["metadata"]
    changes = {name: values for name, values in metadata.items() if values}
    body = {"metadata": {"uid": meta["uid"], **changes}}
    return await caller.client.patch(AGENT_RUNS, meta["name"], meta["namespace"], body, kind=PatchKind.MERGE)
