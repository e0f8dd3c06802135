"""The definition that a run executes: the stored one, or the one it would start with now."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from jangar.api.kind import Kind
from jangar.api.orchestration import OrchestrationRunSpec, OrchestrationSpec, RetryOf
from jangar.api.phases import TERMINAL, Phase
from jangar.api.problems import Problem
from jangar.controllers.orchestrationrun.memory import Pinned
from jangar.controllers.orchestrationrun.record import read_steps
from jangar.controllers.resources import MANAGED_BY, RUN_UID, is_controlled_by, owner_reference
from jangar.domain.orchestration.definition import ConditionCompiler, Definition
from jangar.domain.orchestration.message_text import does_not_exist
from jangar.domain.orchestration.parameters import resolve_parameters
from jangar.domain.orchestration.planning.initial import own_definition_problem, reused_steps, source_problem
from jangar.domain.orchestration.planning.observation import (
    DefinitionMissing,
    DefinitionRejected,
    SnapshotConflict,
)
from jangar.domain.orchestration.snapshot import (
    decode_snapshot,
    encode_snapshot,
    snapshot_hash,
    snapshot_name,
)
from jangar.domain.orchestration.status_document import run_record
from jangar.domain.orchestration.validation import define, not_built_steps
from kubekit.cache.object_cache import Cache, Cached
from kubekit.client.api_client import Client
from kubekit.client.builtin import CONFIG_MAPS
from kubekit.client.errors import AlreadyExists, NotFound
from kubekit.client.resource import Resource
from kubekit.controller.evaluation import evaluated

KEY = "orchestration.json.gz"
Reused = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A definition that can be planned, with the run's parameters resolved."""

    definition: Definition
    spec: Mapping[str, Any]
    """The definition as written, which is stored."""
    reused: Reused
    source: Mapping[str, str] | None = None
    """Name and uid of the Orchestration; None for an inline definition."""

    def reference(self, run: Cached) -> dict[str, Any]:
        """The value of `status.snapshotRef`, recorded before the snapshot is created."""
        content = snapshot_hash(self.spec)
        return {
            "name": snapshot_name(run.name, run.uid, content),
            "hash": content,
            **({"orchestration": dict(self.source)} if self.source else {}),
        }


def snapshot_in(obj: Mapping[str, Any]) -> bytes:
    """The compressed definition in a snapshot's object."""
    return base64.b64decode((obj.get("binaryData") or {}).get(KEY) or "")


def recorded_snapshot(
    obj: Mapping[str, Any], run_uid: str, reference: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """The definition in a snapshot, if the run controls the object and its status has recorded this very content."""
    if not is_controlled_by(obj, run_uid):
        return None
    try:
        spec = decode_snapshot(snapshot_in(obj))
    except ValueError:
        return None
    return spec if snapshot_hash(spec) == reference.get("hash") else None


STEP_BYTES = 300
"""Approximate size of a step."""

Resolution = Found | DefinitionMissing | DefinitionRejected


class Definitions:
    """Finds, stores and reads the definitions that runs execute."""

    def __init__(
        self,
        client: Client,
        *,
        orchestrations: Cache,
        runs: Cache,
        resource: Resource,
        compile_condition: ConditionCompiler,
        runs_here: Callable[[Kind], bool] = lambda _: True,
    ) -> None:
        """`runs_here` says whether this controller runs children of a kind."""
        self._client = client
        self._orchestrations = orchestrations
        self._runs = runs
        self._resource = resource
        self._compile = compile_condition
        self._runs_here = runs_here

    async def current(self, run: Cached, spec: OrchestrationRunSpec) -> Resolution:
        """The definition that the run would start with now."""
        given = spec.parameters or {}
        if spec.retry_of is not None:
            if spec.orchestration is not None:
                return DefinitionRejected(problems=[own_definition_problem()])
            return await self._retried(run, spec, spec.retry_of)
        if spec.orchestration is not None:
            inline = run.view["spec"]["orchestration"]
            return await evaluated(lambda: self._found(inline, given), size=len(run.raw))
        name = spec.orchestration_ref.name if spec.orchestration_ref else ""
        cached = self._orchestrations.get(run.namespace, name)
        if cached is None:
            others = (item.name for item in self._orchestrations.all(run.namespace))
            return DefinitionMissing(message=does_not_exist("Orchestration", name, others))
        source = {"name": cached.name, "uid": cached.uid}
        named = cached.view.get("spec") or {}
        return await evaluated(lambda: self._found(named, given, source=source), size=len(cached.raw))

    async def stored(self, run: Cached, reference: Mapping[str, Any]) -> Pinned | None:
        """The stored definition, if it is the one that the run's status has recorded."""
        found = await self._stored_spec(run, reference)
        if found is None:
            return None

        def defined() -> Definition | list[Problem]:
            return define(OrchestrationSpec.model_validate(found.spec), compile_condition=self._compile)

        made = await evaluated(defined, size=_size(found.spec))
        return self._pinned(made, found) if isinstance(made, Definition) else None

    async def store(self, run: Cached, found: Found) -> Pinned | SnapshotConflict:
        """Store the definition (DAG-3). Its name and hash are already in the run's status."""
        reference = found.reference(run)
        manifest = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": reference["name"],
                "namespace": run.namespace,
                "labels": {**MANAGED_BY, RUN_UID: run.uid},
                "ownerReferences": [owner_reference(self._resource, run)],
            },
            "immutable": True,
            "binaryData": {KEY: base64.b64encode(encode_snapshot(found.spec)).decode()},
        }
        try:
            obj = await self._client.create(CONFIG_MAPS, manifest)
        except AlreadyExists:
            obj = await self._client.get(CONFIG_MAPS, reference["name"], run.namespace)
            if recorded_snapshot(obj, run.uid, reference) is None:
                return SnapshotConflict(
                    message=f"ConfigMap {reference['name']} (uid {obj['metadata']['uid']}) has the name of this run's "
                    "snapshot and is not it, so the run did not start: find out who created it and delete it, "
                    "then start a new run"
                )
        stored = _Stored({**reference, "uid": obj["metadata"]["uid"]}, found.spec)
        return self._pinned(found.definition, stored)

    async def _stored_spec(self, run: Cached, reference: Mapping[str, Any]) -> "_Stored | None":
        try:
            obj = await self._client.get(CONFIG_MAPS, reference.get("name") or "", run.namespace)
        except NotFound:
            return None
        spec = recorded_snapshot(obj, run.uid, reference)
        if spec is None:
            return None
        return _Stored({**reference, "uid": obj["metadata"]["uid"]}, spec)

    def _found(
        self,
        written: Mapping[str, Any],
        given: Mapping[str, str],
        source: Mapping[str, str] | None = None,
    ) -> Resolution:
        spec = OrchestrationSpec.model_validate(written)
        made = define(spec, compile_condition=self._compile)
        if not_built := list(not_built_steps(spec)):
            return DefinitionRejected(problems=not_built)
        if not isinstance(made, Definition):
            return DefinitionRejected(problems=made)
        parameters = resolve_parameters(spec, given)
        if isinstance(parameters, list):
            return DefinitionRejected(problems=parameters)
        return Found(definition=made, spec=written, reused={}, source=source)

    async def _retried(self, run: Cached, spec: OrchestrationRunSpec, retry: RetryOf) -> Resolution:
        """The definition of the retried run, and which of its steps are kept (DAG-16)."""
        old = self._runs.get(run.namespace, retry.name)
        if old is None or (retry.uid and old.uid != retry.uid):
            return DefinitionMissing(message=f'run "{retry.name}" to retry does not exist')
        status = old.view.get("status") or {}
        if Phase(status.get("phase") or Phase.PENDING) not in TERMINAL:
            return DefinitionMissing(message=f'run "{retry.name}" to retry has not ended yet')
        stored = await self._stored_spec(old, status.get("snapshotRef") or {})
        if stored is None:
            return DefinitionMissing(message=f'the definition of run "{retry.name}" is gone or was replaced')
        named = spec.orchestration_ref.name if spec.orchestration_ref else None
        if (problem := _disagreement(old, named)) is not None:
            return DefinitionRejected(problems=[problem])
        given, source = spec.parameters or {}, snapshot_source(old)
        found = await evaluated(
            lambda: self._found(stored.spec, given, source=source), size=_size(stored.spec)
        )
        if not isinstance(found, Found):
            return found
        record = run_record(status, await read_steps(self._client, old, status))
        kept = reused_steps(found.definition, record.steps, retry.from_step)
        if isinstance(kept, Problem):
            return DefinitionRejected(problems=[kept])
        return replace(found, reused=kept)

    def _pinned(self, definition: Definition, stored: "_Stored") -> Pinned:
        return Pinned(
            definition=definition,
            reference=stored.reference,
            steps={step.name: step for step in definition.steps},
            unstartable=frozenset(
                step.name
                for step in definition.steps
                if step.adapter.child is not None and not self._runs_here(step.adapter.child)
            ),
            positions={step.name: position for position, step in enumerate(definition.steps)},
        )


def snapshot_source(run: Cached) -> Mapping[str, str] | None:
    """Name and uid of the Orchestration that the run's snapshot was taken from; None if not recorded."""
    reference = (run.view.get("status") or {}).get("snapshotRef") or {}
    source: Mapping[str, str] | None = reference.get("orchestration")
    return source


def _disagreement(old: Cached, named: str | None) -> Problem | None:
    """The problem if a retry names another Orchestration. Earlier versions did not record the source."""
    source = snapshot_source(old)
    return source_problem(
        old.name,
        made_of=source["name"] if source else None,
        has_own=bool((old.view.get("spec") or {}).get("orchestration")),
        named=named,
    )


class _Stored(NamedTuple):
    reference: Mapping[str, Any]
    spec: Mapping[str, Any]


def _size(spec: Mapping[str, Any]) -> int:
    """Approximate number of bytes of the definition."""
    return STEP_BYTES * len(spec.get("steps") or ())
