"""Creates runs: new ones, retries and resubmissions (DAG-16). Every client creates runs through this module."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ValidationError

from jangar.api.orchestration import OrchestrationSpec
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.controllers.resources import CREATED_BY
from jangar.domain.orchestration.parameters import resolve_parameters
from jangar.operations.caller import Caller, RunRef
from jangar.operations.idempotency import DELIVERY_ID, Created, create_once, label_of_key, name_of_key
from jangar.operations.refusals import ErrorKind, Refused
from jangar.operations.run_reading import (
    ORCHESTRATIONS,
    RUNS,
    ReadRun,
    get_run,
    is_over,
    phase_of,
    unknown_step,
)
from kubekit.client.api_client import Obj
from kubekit.client.errors import AlreadyExists, NotFound

REPEATED_FIELDS: Final = (
    "orchestrationRef",
    "orchestration",
    "parameters",
    "policies",
    "ttlSecondsAfterFinished",
)
OWN_LABELS: Final = ("jangar.proompteng.ai/", "app.kubernetes.io/managed-by")
LABEL: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
MAX_PREFIX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSubmission:
    """A request for a new run."""

    namespace: str
    orchestration: str | None = None
    """Name of the definition; None for a run with an inline definition."""
    definition: Mapping[str, Any] | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    policies: Mapping[str, Any] | None = None
    name: str | None = None
    key: str | None = None
    """Idempotency key: requests with the same key and namespace create one run."""
    labels: Mapping[str, str] = field(default_factory=dict)


class NameTaken(Refused):
    """A run of this name exists."""

    def __init__(self, existing: Obj) -> None:
        name = existing["metadata"]["name"]
        super().__init__(
            f"run {name} already exists ({phase_of(existing)}): choose another name, or omit it",
            ErrorKind.CONFLICT,
            fields={"name": "A run of this name exists. Choose another name, or leave it empty."},
        )
        self.existing = existing


async def submit_run(caller: Caller, submission: RunSubmission) -> Created:
    """Create a run, at most once per idempotency key. Raises Refused and the API's errors."""
    if (submission.orchestration is None) == (submission.definition is None):
        raise Refused(
            "specify exactly one of an orchestration name and an inline definition", ErrorKind.INVALID
        )
    if submission.key is not None and submission.name:
        raise Refused(
            "a run with an idempotency key gets its name from the key: omit the name or the key",
            ErrorKind.INVALID,
        )
    await _check_parameters(caller, submission)
    run = manifest(submission)
    if submission.key is None:
        return Created(await submit_manifest(caller, run))
    return await create_once(
        caller, RUNS, with_creator(run, caller.name), key=submission.key, field="deliveryId"
    )


async def submit_manifest(caller: Caller, run: Obj) -> Obj:
    """Create the run in a manifest. Raises NameTaken if a run of its name exists."""
    try:
        return await caller.client.create(RUNS, with_creator(run, caller.name))
    except AlreadyExists:
        name = run["metadata"].get("name")
        if name is None:
            raise
        existing = await caller.client.get(RUNS, name, run["metadata"]["namespace"])
    raise NameTaken(existing)


async def retry_run(
    caller: Caller, ref: RunRef, *, from_step: str | None = None, name: str | None = None
) -> Obj:
    """Create a run that repeats an ended one and keeps its succeeded steps. Raises Refused."""
    read = await get_run(caller, ref)
    if not read.is_live:
        raise Refused(
            f"{read.identity.name} was deleted and exists only in the history: its steps cannot be reused; "
            f"resubmit it to run all steps again",
            ErrorKind.CONFLICT,
        )
    return await submit_manifest(caller, _retry_manifest(read, from_step, name))


async def resubmit_run(
    caller: Caller,
    ref: RunRef,
    *,
    name: str | None = None,
    parameters: Mapping[str, str] | None = None,
    overrides: Mapping[str, str] | None = None,
) -> Obj:
    """Create a run of the current definition like an earlier run, which may be deleted. Raises Refused.

    `parameters` replace all parameters of the earlier run, `overrides` single ones.
    """
    read = await get_run(caller, ref)
    spec = read.obj.get("spec") or {}
    if overrides:
        parameters = {**(spec.get("parameters") or {}), **overrides}
    if not spec.get("orchestrationRef") and not spec.get("orchestration"):
        original = (spec.get("retryOf") or {}).get("name")
        raise Refused(
            f"{read.identity.name} is a retry of {original}: resubmit {original} instead", ErrorKind.CONFLICT
        )
    run = _repeat_manifest(read.obj, name)
    if parameters is not None:
        run["spec"]["parameters"] = dict(parameters)
        submission = RunSubmission(
            namespace=run["metadata"]["namespace"],
            orchestration=(spec.get("orchestrationRef") or {}).get("name"),
            definition=spec.get("orchestration"),
            parameters=parameters,
        )
        await _check_parameters(caller, submission)
    return await submit_manifest(caller, run)


def manifest(submission: RunSubmission) -> Obj:
    """The run object of a submission."""
    spec: Obj = {}
    if submission.orchestration is not None:
        spec["orchestrationRef"] = {"name": submission.orchestration}
    else:
        spec["orchestration"] = dict(submission.definition or {})
    if submission.parameters:
        spec["parameters"] = dict(submission.parameters)
    if submission.policies:
        spec["policies"] = dict(submission.policies)
    labels = dict(submission.labels)
    name: Obj = {"generateName": f"{(submission.orchestration or 'run')[:MAX_PREFIX]}-"}
    if submission.key is not None:
        name = {"name": name_of_key(submission.key)}
        spec["deliveryId"] = submission.key
        labels[DELIVERY_ID] = label_of_key(submission.key, fits=LABEL.fullmatch(submission.key) is not None)
    if submission.name:
        name = {"name": submission.name}
    return _run_object({"namespace": submission.namespace, **name}, labels, spec)


def with_creator(obj: Obj, name: str | None) -> Obj:
    """The object with the annotation that names its creator, if the name is known."""
    if not name:
        return obj
    meta = obj["metadata"]
    return {**obj, "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), CREATED_BY: name}}}


def _retry_manifest(read: ReadRun, from_step: str | None, name: str | None) -> Obj:
    """A run with the pinned definition of an ended run."""
    run, meta = read.obj, read.obj["metadata"]
    if not is_over(run):
        raise Refused(
            f"{meta['name']} is {phase_of(run)}: only an ended run can be retried "
            f"(jangar cancel {meta['name']} --wait cancels it)",
            ErrorKind.CONFLICT,
        )
    original: Obj = {"name": meta["name"], "uid": meta["uid"]}
    if from_step is not None:
        names = [state.name for state in read.record.steps]
        if names and from_step not in names:
            raise unknown_step(meta["name"], from_step, names)
        original["fromStep"] = from_step
    elif phase_of(run) == "Succeeded":
        raise Refused(
            f"every step of {meta['name']} succeeded: pass the first step to repeat with --from, "
            f"or run all steps again with jangar resubmit {meta['name']}",
            ErrorKind.CONFLICT,
        )
    retry = _repeat_manifest(run, name)
    retry["spec"].pop("orchestration", None)
    retry["spec"]["retryOf"] = original
    return retry


def _repeat_manifest(run: Mapping[str, Any], name: str | None) -> Obj:
    meta, spec = run["metadata"], run.get("spec") or {}
    labels = {key: text for key, text in (meta.get("labels") or {}).items() if not key.startswith(OWN_LABELS)}
    new_name = {"name": name} if name else {"generateName": f"{meta['name'][:MAX_PREFIX]}-"}
    repeated = {key: spec[key] for key in REPEATED_FIELDS if key in spec}
    return _run_object({"namespace": meta["namespace"], **new_name}, labels, repeated)


def _run_object(meta: Obj, labels: Mapping[str, str], spec: Obj) -> Obj:
    if labels:
        meta = {**meta, "labels": dict(labels)}
    return {"apiVersion": RUNS.api_version, "kind": RUNS.kind, "metadata": meta, "spec": spec}


async def _check_parameters(caller: Caller, submission: RunSubmission) -> None:
    definition = submission.definition
    if submission.orchestration is not None:
        try:
            obj = await caller.client.get(ORCHESTRATIONS, submission.orchestration, submission.namespace)
        except NotFound as error:
            raise Refused(
                f"Orchestration {submission.orchestration} not found in {submission.namespace}: apply it first",
                ErrorKind.MISSING,
            ) from error
        definition = obj.get("spec") or {}
    try:
        spec = OrchestrationSpec.model_validate(definition)
    except ValidationError as error:
        if submission.definition is None:
            return
        problems = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]
        raise Refused("the definition is invalid", ErrorKind.INVALID, problems=problems) from error
    resolved = resolve_parameters(spec, submission.parameters)
    if isinstance(resolved, list):
        sentences = _sentences(resolved)
        raise Refused(
            f"invalid parameters: {'; '.join(sentences)}",
            ErrorKind.INVALID,
            problems=sentences,
            fields={f"parameters.{problem.path[-1]}": _form_message(problem) for problem in resolved},
        )


def _form_message(problem: Problem) -> str:
    """A sentence that a form shows next to the field."""
    if problem.reason is Reason.MISSING_PARAMETER:
        return "Enter a value."
    if problem.reason is Reason.UNDECLARED_PARAMETER:
        return "The orchestration does not declare this parameter."
    return f"{problem.fix[:1].upper()}{problem.fix[1:]}."


def parameter_problems(definition: OrchestrationSpec, given: Mapping[str, str]) -> list[str]:
    """All problems of a run's parameters, one sentence each."""
    resolved = resolve_parameters(definition, given)
    return _sentences(resolved) if isinstance(resolved, list) else []


def _sentences(problems: Sequence[Problem]) -> list[str]:
    return [f"{problem.message} ({problem.fix})" if problem.fix else problem.message for problem in problems]
