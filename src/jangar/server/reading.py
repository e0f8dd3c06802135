"""A run as an API has it, read whole: its record with every step, and the definition that it executes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN, OrchestrationRunSpec, OrchestrationSpec
from jangar.controllers.orchestrationrun.definitions import recorded_snapshot
from jangar.controllers.orchestrationrun.record import read_steps
from jangar.controllers.resources import resource_of
from jangar.domain.orchestration.definition import Definition
from jangar.domain.orchestration.explain import RunView
from jangar.domain.orchestration.snapshot import UnreadableSnapshot, decode_snapshot
from jangar.domain.orchestration.state import RunRecord
from jangar.domain.orchestration.status_document import run_record
from jangar.domain.orchestration.validation import define
from jangar.domain.times import parse_rfc3339
from jangar.domain.views.run_row import RunIdentity
from jangar.lint.conditions import compile_when
from kubekit.cache.cached_object import Cached
from kubekit.client.builtin import CONFIG_MAPS
from kubekit.client.errors import NotFound

if TYPE_CHECKING:
    from kubekit.client.api_client import Client

RUNS = resource_of(ORCHESTRATION_RUN)
ORCHESTRATIONS = resource_of(ORCHESTRATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRun:
    """One run at one moment."""

    obj: Mapping[str, Any]
    record: RunRecord
    view: RunView | None
    """None while there is no definition that could be executed."""
    is_live: bool = True
    """Whether its object is there; else this is history."""

    @property
    def identity(self) -> RunIdentity:
        return identity(self.obj)


def identity(obj: Mapping[str, Any]) -> RunIdentity:
    """Which run an object is."""
    meta = obj["metadata"]
    return RunIdentity(
        namespace=meta["namespace"],
        name=meta["name"],
        uid=meta["uid"],
        created_at=parse_rfc3339(meta["creationTimestamp"]),
        orchestration=((obj.get("spec") or {}).get("orchestrationRef") or {}).get("name"),
    )


async def read_object(client: "Client", obj: dict[str, Any], definition: Definition | None = None) -> ReadRun:
    """The run that this object is; a definition that was read before is pinned and need not be read again."""
    status = obj.get("status") or {}
    record = run_record(status, await read_steps(client, Cached.of(obj), status))
    if definition is None:
        definition = await _definition(client, obj)
    return ReadRun(obj=obj, record=record, view=_view(obj, record, definition))


def read_past(obj: Mapping[str, Any], snapshot: bytes | None) -> ReadRun:
    """A run whose object is gone, from its last form with all steps in it and what was pinned for it. Asks nobody."""
    record = run_record(obj.get("status") or {}, None)
    try:
        definition = _defined(decode_snapshot(snapshot)) if snapshot else None
    except UnreadableSnapshot:
        definition = None
    return ReadRun(obj=obj, record=record, view=_view(obj, record, definition), is_live=False)


def _view(obj: Mapping[str, Any], record: RunRecord, definition: Definition | None) -> RunView | None:
    if definition is None or (record.steps and len(record.steps) != len(definition.steps)):
        return None
    spec = OrchestrationRunSpec.model_validate(obj.get("spec") or {})
    return RunView(definition=definition, record=record, policies=spec.policies, suspended=bool(spec.suspend))


async def _definition(client: "Client", obj: Mapping[str, Any]) -> Definition | None:
    """What was pinned for the run; before that, what it would start with."""
    spec = await _pinned(client, obj) or await _named(client, obj)
    return _defined(spec) if spec is not None else None


def _defined(spec: Mapping[str, Any]) -> Definition | None:
    try:
        made = define(OrchestrationSpec.model_validate(spec), compile_condition=compile_when)
    except ValidationError:
        return None
    return made if isinstance(made, Definition) else None


async def _pinned(client: "Client", obj: Mapping[str, Any]) -> Mapping[str, Any] | None:
    meta, status = obj["metadata"], obj.get("status") or {}
    reference = status.get("snapshotRef") or {}
    if not reference.get("name"):
        return None
    try:
        found = await client.get(CONFIG_MAPS, reference["name"], meta["namespace"])
    except NotFound:
        return None
    return recorded_snapshot(found, meta["uid"], reference)


async def _named(client: "Client", obj: Mapping[str, Any]) -> Mapping[str, Any] | None:
    spec = obj.get("spec") or {}
    if spec.get("orchestration"):
        return spec["orchestration"]  # type: ignore[no-any-return]
    name = (spec.get("orchestrationRef") or {}).get("name")
    if not name:
        return None
    try:
        found = await client.get(ORCHESTRATIONS, name, obj["metadata"]["namespace"])
    except NotFound:
        return None
    return found.get("spec") or {}
