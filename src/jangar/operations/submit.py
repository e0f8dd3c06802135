"""The one way in: new runs, and runs that repeat others (DAG-16).

The command line, HTTP and the web page call this; none of them makes a run otherwise.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from jangar.api.orchestration import OrchestrationSpec
from jangar.api.phases import TERMINAL
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.controllers.resources import CREATED_BY
from jangar.domain.orchestration.message_text import Guesses
from jangar.domain.orchestration.parameters import resolve_parameters
from jangar.operations.idempotency import DELIVERY_ID, KeyRing, Made, label_of, make_once, named_by
from jangar.operations.refusals import Refused, Why
from jangar.operations.run_reading import ORCHESTRATIONS, RUNS, ReadRun
from kubekit.client.api_client import Obj
from kubekit.client.errors import AlreadyExists, NotFound

if TYPE_CHECKING:
    from kubekit.client.api_client import Client

REPEATED: Final = ("orchestrationRef", "orchestration", "parameters", "policies", "ttlSecondsAfterFinished")
OURS: Final = ("jangar.proompteng.ai/", "app.kubernetes.io/managed-by")
LABEL: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
MAX_PREFIX: Final = 200
SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSubmission:
    """A run that somebody wants."""

    namespace: str
    orchestration: str | None = None
    """Name of the definition; None where the run brings its own."""
    definition: Mapping[str, Any] | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    policies: Mapping[str, Any] | None = None
    name: str | None = None
    key: str | None = None
    """Two orders with one key in one namespace are one order."""
    labels: Mapping[str, str] = field(default_factory=dict)
    by: str | None = None
    """Who wants it."""


class NameTaken(Refused):
    """There is a run of this name."""

    def __init__(self, message: str, *, there: Obj) -> None:
        fields = {"name": "A run of this name exists. Choose another name, or leave it empty."}
        super().__init__(message, Why.STATE, fields=fields)
        self.there = there


def phase_of(run: Mapping[str, Any]) -> str:
    return (run.get("status") or {}).get("phase") or "Pending"


def is_over(run: Mapping[str, Any]) -> bool:
    return phase_of(run) in TERMINAL


async def submit(client: "Client", order: RunSubmission, ring: KeyRing | None = None) -> Made:
    """Make the run. Raises Refused, and what the API says. `ring` keeps keys for longer than runs."""
    if (order.orchestration is None) == (order.definition is None):
        raise Refused("specify exactly one of an orchestration name and an inline definition", Why.WRONG)
    if order.key is not None and order.name:
        raise Refused(
            "a run with an idempotency key gets its name from the key: omit the name or the key", Why.WRONG
        )
    await _check_parameters(client, order)
    run = manifest(order)
    if order.key is not None:
        return await make_once(client, RUNS, run, key=order.key, field="deliveryId", ring=ring)
    return Made(await make(client, run, None))


async def make(client: "Client", run: Obj, by: str | None) -> Obj:
    """Create a run on behalf of its requester. Raises Refused if its name is taken."""
    meta = run["metadata"]
    if by:
        notes = {**(meta.get("annotations") or {}), CREATED_BY: by}
        run = {**run, "metadata": {**meta, "annotations": notes}}
    try:
        return await client.create(RUNS, run)
    except AlreadyExists:
        name = meta.get("name")
        if name is None:
            raise
        there = await client.get(RUNS, name, meta["namespace"])
    raise NameTaken(
        f"run {name} already exists ({phase_of(there)}): choose another name, or omit it", there=there
    )


def manifest(order: RunSubmission) -> Obj:
    """The run that an order asks for. Pure."""
    spec: Obj = {}
    if order.orchestration is not None:
        spec["orchestrationRef"] = {"name": order.orchestration}
    else:
        spec["orchestration"] = dict(order.definition or {})
    if order.parameters:
        spec["parameters"] = dict(order.parameters)
    if order.policies:
        spec["policies"] = dict(order.policies)
    labels = dict(order.labels)
    called: Obj = {"generateName": f"{(order.orchestration or 'run')[:MAX_PREFIX]}-"}
    if order.key is not None:
        called = {"name": named_by(order.key)}
        spec["deliveryId"] = order.key
        labels[DELIVERY_ID] = label_of(order.key, fits=_is_label(order.key))
    if order.name:
        called = {"name": order.name}
    meta: Obj = {"namespace": order.namespace, **called}
    if labels:
        meta["labels"] = labels
    if order.by:
        meta["annotations"] = {CREATED_BY: order.by}
    return {"apiVersion": RUNS.api_version, "kind": RUNS.kind, "metadata": meta, "spec": spec}


def retry_of(read: ReadRun, from_step: str | None, name: str | None) -> Obj:
    """The run that repeats an ended one with its own definition, keeping what succeeded."""
    run, meta = read.obj, read.obj["metadata"]
    if not is_over(run):
        raise Refused(
            f"{meta['name']} is {phase_of(run)}: only an ended run can be retried "
            f"(jangar cancel {meta['name']} --wait cancels it)",
            Why.STATE,
        )
    if from_step is not None:
        _check_step(read, from_step)
    elif phase_of(run) == "Succeeded":
        raise Refused(
            f"every step of {meta['name']} succeeded: pass the first step to repeat with --from, "
            f"or run all steps again with jangar resubmit {meta['name']}",
            Why.STATE,
        )
    repeated: Obj = {"name": meta["name"], "uid": meta["uid"]}
    if from_step is not None:
        repeated["fromStep"] = from_step
    made = _again(run, name)
    made["spec"].pop("orchestration", None)
    made["spec"]["retryOf"] = repeated
    return made


def resubmission_of(read: ReadRun, name: str | None, parameters: Mapping[str, str] | None = None) -> Obj:
    """A new run of what is defined today, with the parameters of the old run unless others are given."""
    spec = read.obj.get("spec") or {}
    if not spec.get("orchestrationRef") and not spec.get("orchestration"):
        original = (spec.get("retryOf") or {}).get("name")
        raise Refused(
            f"{read.obj['metadata']['name']} is a retry of {original}: resubmit {original} instead", Why.STATE
        )
    made = _again(read.obj, name)
    if parameters is not None:
        made["spec"]["parameters"] = dict(parameters)
    return made


def _again(run: Mapping[str, Any], name: str | None) -> Obj:
    meta, spec = run["metadata"], run.get("spec") or {}
    labels = {key: text for key, text in (meta.get("labels") or {}).items() if not key.startswith(OURS)}
    called: Obj = {"name": name} if name else {"generateName": f"{meta['name'][:MAX_PREFIX]}-"}
    return {
        "apiVersion": RUNS.api_version,
        "kind": RUNS.kind,
        "metadata": {"namespace": meta["namespace"], **called, **({"labels": labels} if labels else {})},
        "spec": {key: spec[key] for key in REPEATED if key in spec},
    }


def _check_step(read: ReadRun, step: str) -> None:
    names = [state.name for state in read.record.steps]
    if names and step not in names:
        raise no_such_step(read.obj["metadata"]["name"], step, names)


def no_such_step(run: str, step: str, names: Sequence[str]) -> Refused:
    near = Guesses(list(names)).nearest(step)
    hint = f"; did you mean {near}?" if near else f"; it has {', '.join(names[:SHOWN])}"
    return Refused(f"{run} has no step {step}{hint}", Why.MISSING)


async def _check_parameters(client: "Client", order: RunSubmission) -> None:
    definition = order.definition
    if order.orchestration is not None:
        try:
            found = await client.get(ORCHESTRATIONS, order.orchestration, order.namespace)
        except NotFound as error:
            raise Refused(
                f"Orchestration {order.orchestration} not found in {order.namespace}: apply it first",
                Why.MISSING,
            ) from error
        definition = found.get("spec") or {}
    try:
        read = OrchestrationSpec.model_validate(definition)
    except ValidationError as error:
        if order.definition is None:
            return
        reported = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]
        raise Refused("the definition is invalid", Why.WRONG, problems=reported) from error
    resolved = resolve_parameters(read, order.parameters)
    if isinstance(resolved, list):
        reported = _sentences(resolved)
        fields = {f"parameters.{item.path[-1]}": _plain(item) for item in resolved}
        raise Refused(
            f"invalid parameters: {'; '.join(reported)}", Why.WRONG, problems=reported, fields=fields
        )


async def check_parameters(client: "Client", run: Mapping[str, Any]) -> None:
    """Refuses a run whose parameters do not fit the definition that it names or holds."""
    spec = run["spec"]
    order = RunSubmission(
        namespace=run["metadata"]["namespace"],
        orchestration=(spec.get("orchestrationRef") or {}).get("name"),
        definition=spec.get("orchestration"),
        parameters=spec.get("parameters") or {},
    )
    await _check_parameters(client, order)


def _plain(problem: Problem) -> str:
    """One sentence for a form that shows it beside the field."""
    if problem.reason is Reason.MISSING_PARAMETER:
        return "Enter a value."
    if problem.reason is Reason.UNDECLARED_PARAMETER:
        return "The orchestration does not declare this parameter."
    return f"{problem.fix[:1].upper()}{problem.fix[1:]}."


def parameter_problems(definition: OrchestrationSpec, given: Mapping[str, str]) -> list[str]:
    """Everything that is wrong with the parameters of a run, a sentence each."""
    found = resolve_parameters(definition, given)
    return _sentences(found) if isinstance(found, list) else []


def _sentences(problems: Sequence[Problem]) -> list[str]:
    return [f"{problem.message} ({problem.fix})" if problem.fix else problem.message for problem in problems]


def _is_label(text: str) -> bool:
    return LABEL.fullmatch(text) is not None
