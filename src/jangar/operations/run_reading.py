"""Reads a run completely: its object, the record with every step, and the definition that it executes."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from pydantic import ValidationError

from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN, OrchestrationRunSpec, OrchestrationSpec
from jangar.api.phases import TERMINAL
from jangar.controllers.orchestrationrun.definitions import recorded_snapshot
from jangar.controllers.orchestrationrun.record import read_steps
from jangar.controllers.resources import resource_of
from jangar.domain.orchestration.definition import Definition
from jangar.domain.orchestration.explain import Explanation, RunView, explain_run, explain_step
from jangar.domain.orchestration.message_text import Guesses
from jangar.domain.orchestration.snapshot import UnreadableSnapshot, decode_snapshot
from jangar.domain.orchestration.state import RunRecord, StepState
from jangar.domain.orchestration.status_document import run_record
from jangar.domain.orchestration.validation import define
from jangar.domain.views.run_row import RunIdentity
from jangar.domain.views.step_inputs import step_inputs
from jangar.lint.conditions import compile_when
from jangar.operations.caller import Caller, RunRef
from jangar.operations.refusals import ErrorKind, Refused
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client, Obj
from kubekit.client.builtin import CONFIG_MAPS
from kubekit.client.errors import NotFound
from kubekit.times import parse_rfc3339

RUNS = resource_of(ORCHESTRATION_RUN)
ORCHESTRATIONS = resource_of(ORCHESTRATION)
MAX_CACHED_DEFINITIONS: Final = 64
MAX_LISTED_NAMES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRun:
    """One run at one moment."""

    obj: Mapping[str, Any]
    record: RunRecord
    view: RunView | None
    """None without an executable definition."""
    is_live: bool = True
    """False if the object was deleted and this comes from the history."""

    @property
    def identity(self) -> RunIdentity:
        return identity(self.obj)

    @property
    def states(self) -> Sequence[StepState]:
        return self.view.states if self.view else self.record.steps


class StepData(NamedTuple):
    """Inputs and outputs of one step."""

    step: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]


class LiveObjects(Protocol):
    """A cache of run objects."""

    def object(self, namespace: str, name: str) -> Mapping[str, Any] | None: ...


class PastObjects(Protocol):
    """The history of runs."""

    async def read(self, namespace: str, *, name: str, uid: str | None = None) -> ReadRun | None: ...


class RunSource:
    """Reads runs: from a cache if there is one, then from the API, then from the history if there is one.

    A pinned definition never changes, so it is decoded once.
    """

    def __init__(
        self, client: Client, live: LiveObjects | None = None, past: PastObjects | None = None
    ) -> None:
        self._client = client
        self._live = live
        self._past = past
        self._definitions: OrderedDict[str, Definition] = OrderedDict()

    async def read(self, namespace: str, name: str, uid: str | None = None) -> ReadRun:
        """Raises NotFound. With a uid it is that very run, even if a later run has its name."""
        if self._live is None:
            obj = await self._client.get(RUNS, name, namespace)
            if uid not in {None, obj["metadata"]["uid"]}:
                raise NotFound(f"run {uid} not found in {namespace}", status=404)
            return await self._complete(obj)
        live = await self._live_object(self._live, namespace, name)
        if live is not None and (uid is None or live["metadata"]["uid"] == uid):
            return await self._complete(live)
        past = await self._past.read(namespace, name=name, uid=uid) if self._past else None
        if past is None:
            raise NotFound(f"run {uid or name} not found in {namespace} or its history", status=404)
        return past

    async def _live_object(self, live: LiveObjects, namespace: str, name: str) -> Mapping[str, Any] | None:
        """The cache may not have a run that was created a moment ago; then ask the API."""
        cached = live.object(namespace, name)
        if cached is not None:
            return cached
        try:
            return await self._client.get(RUNS, name, namespace)
        except NotFound:
            return None

    async def _complete(self, obj: Mapping[str, Any]) -> ReadRun:
        uid = obj["metadata"]["uid"]
        definition = self._definitions.get(uid)
        read = await read_object(self._client, dict(obj), definition)
        if definition is None and read.view is not None and (obj.get("status") or {}).get("snapshotRef"):
            self._definitions[uid] = read.view.definition
            if len(self._definitions) > MAX_CACHED_DEFINITIONS:
                self._definitions.popitem(last=False)
        elif definition is not None:
            self._definitions.move_to_end(uid)
        return read


async def get_run(caller: Caller, ref: RunRef) -> ReadRun:
    """A complete run. Raises NotFound."""
    return await caller.runs.read(ref.namespace, ref.name, ref.uid)


async def explain_run_steps(
    caller: Caller, ref: RunRef, step: str = ""
) -> tuple[ReadRun, Sequence[Explanation]]:
    """A run and the `explanations` of its steps."""
    read = await get_run(caller, ref)
    return read, explanations(read, step)


def explanations(read: ReadRun, step: str) -> Sequence[Explanation]:
    """Why one step, or each step that did not succeed, is in its phase. Raises Refused for an unknown step."""
    if read.view is None:
        return ()
    if not step:
        return explain_run(read.view)
    explanation = explain_step(read.view, step)
    if explanation is None:
        raise unknown_step(read.identity.name, step, read.view.definition.graph.names)
    return (explanation,)


def unknown_step(run: str, step: str, names: Sequence[str]) -> Refused:
    near = Guesses(list(names)).nearest(step)
    hint = f"; did you mean {near}?" if near else f"; it has {', '.join(names[:MAX_LISTED_NAMES])}"
    return Refused(f"{run} has no step {step}{hint}", ErrorKind.MISSING)


def step_data(read: ReadRun) -> list[StepData]:
    """Inputs and outputs of every step, in list order; empty while the definition cannot be read."""
    if read.view is None:
        return []
    given = (read.obj.get("spec") or {}).get("parameters") or {}
    return [
        StepData(state.name, inputs, state.outputs or {})
        for state, inputs in zip(read.view.states, step_inputs(read.view, given), strict=True)
    ]


def phase_of(run: Mapping[str, Any]) -> str:
    return (run.get("status") or {}).get("phase") or "Pending"


def is_over(run: Mapping[str, Any]) -> bool:
    return phase_of(run) in TERMINAL


def is_cancel_requested(run: Mapping[str, Any]) -> bool:
    spec = run.get("spec") or {}
    return bool(spec.get("cancel")) or spec.get("desiredState") == "Cancelled"


def owner_of(obj: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    """The controller reference to an owner of this kind, if there is one."""
    owners: list[dict[str, Any]] = obj["metadata"].get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller") and owner["kind"] == kind), None)


def identity(obj: Mapping[str, Any]) -> RunIdentity:
    meta = obj["metadata"]
    return RunIdentity(
        namespace=meta["namespace"],
        name=meta["name"],
        uid=meta["uid"],
        created_at=parse_rfc3339(meta["creationTimestamp"]),
        orchestration=((obj.get("spec") or {}).get("orchestrationRef") or {}).get("name"),
    )


async def read_object(client: Client, obj: Obj, definition: Definition | None = None) -> ReadRun:
    """The run of an object. Pass a definition that was read before: it is pinned, so it is not read again."""
    status = obj.get("status") or {}
    record = run_record(status, await read_steps(client, Cached.of(obj), status))
    if definition is None:
        spec = await _pinned_definition(client, obj) or await _current_definition(client, obj)
        definition = _validated(spec) if spec is not None else None
    return ReadRun(obj=obj, record=record, view=_view(obj, record, definition))


def read_past(obj: Mapping[str, Any], snapshot: bytes | None) -> ReadRun:
    """A deleted run, from its last object, which has all steps, and its pinned definition."""
    record = run_record(obj.get("status") or {}, None)
    try:
        definition = _validated(decode_snapshot(snapshot)) if snapshot else None
    except UnreadableSnapshot:
        definition = None
    return ReadRun(obj=obj, record=record, view=_view(obj, record, definition), is_live=False)


def _view(obj: Mapping[str, Any], record: RunRecord, definition: Definition | None) -> RunView | None:
    if definition is None or (record.steps and len(record.steps) != len(definition.steps)):
        return None
    spec = OrchestrationRunSpec.model_validate(obj.get("spec") or {})
    return RunView(definition=definition, record=record, policies=spec.policies, suspended=bool(spec.suspend))


def _validated(spec: Mapping[str, Any]) -> Definition | None:
    try:
        definition = define(OrchestrationSpec.model_validate(spec), compile_condition=compile_when)
    except ValidationError:
        return None
    return definition if isinstance(definition, Definition) else None


async def _pinned_definition(client: Client, obj: Mapping[str, Any]) -> Mapping[str, Any] | None:
    meta, reference = obj["metadata"], (obj.get("status") or {}).get("snapshotRef") or {}
    if not reference.get("name"):
        return None
    try:
        config_map = await client.get(CONFIG_MAPS, reference["name"], meta["namespace"])
    except NotFound:
        return None
    return recorded_snapshot(config_map, meta["uid"], reference)


async def _current_definition(client: Client, obj: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The definition that the run would start with."""
    spec = obj.get("spec") or {}
    if spec.get("orchestration"):
        return spec["orchestration"]  # type: ignore[no-any-return]
    name = (spec.get("orchestrationRef") or {}).get("name")
    if not name:
        return None
    try:
        orchestration = await client.get(ORCHESTRATIONS, name, obj["metadata"]["namespace"])
    except NotFound:
        return None
    return orchestration.get("spec") or {}
