"""Which definition a run executes: the one that was stored for it, or the one it would start with now."""

import base64
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from jangar.api.orchestration import OrchestrationRunSpec, OrchestrationSpec, RetryOf
from jangar.api.phases import CHILD_KINDS, TERMINAL, Phase, StepKind
from jangar.api.problems import Problem
from jangar.controllers.orchestrationrun.children import KINDS
from jangar.controllers.orchestrationrun.memory import Pinned
from jangar.controllers.orchestrationrun.step_pages import read_steps
from jangar.controllers.resources import MANAGED_BY, RUN_UID, owner_reference
from jangar.domain.orchestration.definition import ConditionCompiler, Definition
from jangar.domain.orchestration.initial import kept_steps
from jangar.domain.orchestration.observation import DefinitionMissing, DefinitionRejected
from jangar.domain.orchestration.parameters import resolve_parameters
from jangar.domain.orchestration.snapshot import (
    UnreadableSnapshot,
    decode_snapshot,
    encode_snapshot,
    snapshot_hash,
    snapshot_name,
)
from jangar.domain.orchestration.status_document import run_record
from jangar.domain.orchestration.validation import define
from jangar.kube.builtin import CONFIG_MAPS
from jangar.kube.cache import Cache, Cached
from jangar.kube.client import Client
from jangar.kube.errors import AlreadyExists, NotFound
from jangar.kube.resource import Resource

KEY = "orchestration.json.gz"
Reused = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A definition that can be planned, with the run's parameters resolved."""

    definition: Definition
    spec: Mapping[str, Any]
    """As written: what is stored."""
    reused: Reused


def snapshot_in(obj: Mapping[str, Any]) -> bytes:
    """The packed definition that the object of a snapshot holds."""
    return base64.b64decode((obj.get("binaryData") or {}).get(KEY) or "")


Resolution = Found | DefinitionMissing | DefinitionRejected


class Definitions:
    """Finds, stores and reads back what runs execute."""

    def __init__(
        self,
        client: Client,
        *,
        orchestrations: Cache,
        runs: Cache,
        resource: Resource,
        compile_condition: ConditionCompiler,
        kinds: Collection[StepKind] = KINDS,
    ) -> None:
        """`kinds`: of steps whose children are started here."""
        self._client = client
        self._orchestrations = orchestrations
        self._runs = runs
        self._resource = resource
        self._compile = compile_condition
        self._kinds = kinds

    async def current(self, run: Cached, spec: OrchestrationRunSpec) -> Resolution:
        """What the run would start with now."""
        given = spec.parameters or {}
        if spec.retry_of is not None:
            return await self._retried(run, spec.retry_of, given)
        if spec.orchestration is not None:
            return self._found(run.view["spec"]["orchestration"], given)
        name = spec.orchestration_ref.name if spec.orchestration_ref else ""
        cached = self._orchestrations.get(run.namespace, name)
        if cached is None:
            return DefinitionMissing(message=f'orchestration "{name}" does not exist')
        return self._found(cached.view.get("spec") or {}, given)

    async def stored(self, run: Cached, reference: Mapping[str, Any] | None) -> Pinned | None:
        """What was stored for the run, if it was and can be read."""
        found = await self._stored_spec(run, reference)
        if found is None:
            return None
        made = define(OrchestrationSpec.model_validate(found.spec), compile_condition=self._compile)
        return self._pinned(made, found) if isinstance(made, Definition) else None

    async def store(self, run: Cached, found: Found) -> Pinned | None:
        """Pin it; if something was pinned before, that is what the run executes (DAG-3)."""
        manifest = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": snapshot_name(run.name, run.uid),
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
            return await self.stored(run, None)
        stored = _Stored(obj["metadata"]["name"], obj["metadata"]["uid"], found.spec)
        return self._pinned(found.definition, stored)

    async def _stored_spec(self, run: Cached, reference: Mapping[str, Any] | None) -> "_Stored | None":
        name = (reference or {}).get("name") or snapshot_name(run.name, run.uid)
        try:
            obj = await self._client.get(CONFIG_MAPS, name, run.namespace)
            spec = decode_snapshot(snapshot_in(obj))
        except (NotFound, UnreadableSnapshot):
            return None
        return _Stored(name, obj["metadata"]["uid"], spec)

    def _found(
        self, written: Mapping[str, Any], given: Mapping[str, str], reused: Reused | None = None
    ) -> Resolution:
        spec = OrchestrationSpec.model_validate(written)
        made = define(spec, compile_condition=self._compile)
        if not isinstance(made, Definition):
            return DefinitionRejected(problems=made)
        parameters = resolve_parameters(spec, given)
        if isinstance(parameters, list):
            return DefinitionRejected(problems=parameters)
        return Found(definition=made, spec=written, reused=reused or {})

    async def _retried(self, run: Cached, retry: RetryOf, given: Mapping[str, str]) -> Resolution:
        """The definition of the run that is repeated, and which of its steps are kept (DAG-16)."""
        old = self._runs.get(run.namespace, retry.name)
        if old is None or (retry.uid and old.uid != retry.uid):
            return DefinitionMissing(message=f'run "{retry.name}" to retry does not exist')
        status = old.view.get("status") or {}
        if Phase(status.get("phase") or Phase.PENDING) not in TERMINAL:
            return DefinitionMissing(message=f'run "{retry.name}" to retry has not ended yet')
        stored = await self._stored_spec(old, status.get("snapshotRef"))
        if stored is None:
            return DefinitionMissing(message=f'the definition of run "{retry.name}" is gone')
        found = self._found(stored.spec, given)
        if not isinstance(found, Found):
            return found
        record = run_record(status, await read_steps(self._client, old, status))
        kept = kept_steps(found.definition, record.steps, retry.from_step)
        if isinstance(kept, Problem):
            return DefinitionRejected(problems=[kept])
        return Found(definition=found.definition, spec=stored.spec, reused=kept)

    def _pinned(self, definition: Definition, stored: "_Stored") -> Pinned:
        return Pinned(
            definition=definition,
            reference={"name": stored.name, "hash": snapshot_hash(stored.spec), "uid": stored.uid},
            steps={step.name: step for step in definition.steps},
            unstartable=frozenset(
                step.name
                for step in definition.steps
                if step.kind in CHILD_KINDS and step.kind not in self._kinds
            ),
        )


class _Stored(NamedTuple):
    name: str
    uid: str
    spec: Mapping[str, Any]
