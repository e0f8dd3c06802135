"""Handlers of the legacy API for AgentRun and OrchestrationRun objects, their labels, and terminal events."""

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from jangar.api.phases import TERMINAL, Phase
from jangar.operations import agent_runs
from jangar.operations.agent_runs import AGENT_RUNS
from jangar.operations.objects import get_objects
from jangar.operations.run_reading import RUNS, is_over, phase_of
from jangar.server.http.legacy_api import get_named
from jangar.server.http.problems import Problem
from jangar.server.http.request_models import InNamespace, Name
from jangar.server.http.route import Answer, ApiRequest
from kubekit.client.api_client import Obj
from kubekit.client.errors import NotFound
from kubekit.client.resource import Resource
from kubekit.times import rfc3339

RESERVED_PREFIX: Final = "jangar.proompteng.ai/"
"""Labels and annotations of the controllers; clients may not change them."""
ACK: Final = "agents.proompteng.ai/terminal-ack"
PLAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9_.]{0,22}[a-z0-9])?")
MAX_COUNT: Final = 500

Key = Annotated[str, Field(pattern=r"^[!-~]{1,317}$")]
Marks = dict[Key, Annotated[str, Field(max_length=65536)] | None]
Text = Annotated[str, Field(max_length=1024)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Listed(InNamespace):
    label_selector: Annotated[str, Field(max_length=1024)] = Field(
        "", description="Kubernetes label selector."
    )
    phase: Phase | None = Field(None, description="Only runs in this phase.")
    runtime: Text = Field("", description="Only runs with this runtime.type.")
    limit: int = Field(MAX_COUNT, ge=1, le=MAX_COUNT, description="Maximum number of results, newest first.")


class Named(InNamespace):
    name: Name = Field(description="Name of the object.")


class _Metadata(_Body):
    labels: Marks = {}
    annotations: Marks = {}


class MarksBody(_Metadata):
    """Labels and annotations to set, or with null to take away; here or under metadata."""

    metadata: _Metadata = _Metadata()


class Ended(InNamespace):
    consumer: Text = Field("", description="Consumer name; acknowledged events are omitted.")
    run_id_prefix: Text = Field("", description="Only runs whose parameter runId has this prefix.")
    include_acked: bool = Field(False, description="Include acknowledged events.")
    limit: int = Field(100, ge=1, le=MAX_COUNT, description="Maximum number of results, newest first.")


class AckBody(_Body):
    """That a consumer has seen an end."""

    eventId: str = Field(  # noqa: N815 - a name of the legacy API
        pattern=r"^[a-z0-9][-a-z0-9]{0,62}/[a-z0-9][-a-z0-9.]{0,252}/[-0-9A-Za-z]{1,64}/[A-Za-z]{1,20}$",
        description="namespace/name/uid/phase, as returned by terminal-events.",
    )
    consumer: Annotated[str, Field(min_length=1, max_length=1024)]
    outcome: Text | None = None
    message: Text | None = None
    receiptRef: Text | None = None  # noqa: N815 - a name of the legacy API
    annotations: Marks = {}

    @property
    def namespace(self) -> str:
        """The namespace in which the permission is required."""
        return self.eventId.partition("/")[0]


async def list_agent_run_resources(request: ApiRequest) -> Answer:
    namespace, wanted = request.namespace, request.query
    runs = await get_objects(request.caller, AGENT_RUNS, namespace, labels=wanted.label_selector)
    found = [
        item
        for item in runs
        if wanted.phase in (None, phase_of(item))
        and wanted.runtime in ("", ((item.get("spec") or {}).get("runtime") or {}).get("type"))
    ]
    found.sort(key=lambda item: str(item["metadata"]["creationTimestamp"]), reverse=True)
    document = {"ok": True, "kind": AGENT_RUNS.kind, "namespace": namespace}
    return {**document, "total": len(found), "items": found[: wanted.limit]}


async def show_orchestration_run_resource(request: ApiRequest) -> Answer:
    return _resource(RUNS, await get_named(request, RUNS))


async def mark_agent_run(request: ApiRequest) -> Answer:
    body, nested = request.body, request.body.metadata
    labels, annotations = body.labels | nested.labels, body.annotations | nested.annotations
    if not labels and not annotations:
        raise Problem(400, "labels or annotations are required")
    _reject_reserved(labels | annotations)
    run = await get_named(request, AGENT_RUNS)
    marked = await agent_runs.mark_agent_run(request.caller, run, labels=labels, annotations=annotations)
    return _resource(AGENT_RUNS, marked)


async def list_terminal_events(request: ApiRequest) -> Answer:
    """Ended AgentRuns until the consumer acknowledges them, for as long as the object exists."""
    namespace, wanted = request.namespace, request.query
    ended = [run for run in await get_objects(request.caller, AGENT_RUNS, namespace) if is_over(run)]
    events = [_event(item, wanted.consumer) for item in ended]
    events = [
        event
        for event in events
        if (not wanted.run_id_prefix or str(event["runId"] or "").startswith(wanted.run_id_prefix))
        and (wanted.include_acked or not event["acked"])
    ]
    events.sort(key=lambda item: str(item["observedAt"]), reverse=True)
    document = {"ok": True, "namespace": namespace, "consumer": wanted.consumer or None}
    return {**document, "total": len(events), "events": events[: wanted.limit]}


async def ack_terminal_event(request: ApiRequest) -> Answer:
    body = request.body
    namespace, name, uid, phase = body.eventId.split("/")
    _reject_reserved(body.annotations)
    try:
        (run,) = await get_objects(request.caller, AGENT_RUNS, namespace, [name])
    except NotFound as error:
        raise Problem(404, f"AgentRun {name} not found in namespace {namespace}") from error
    if run["metadata"]["uid"] != uid or phase_of(run) != phase or phase not in TERMINAL:
        raise Problem(
            409,
            f"event {body.eventId} does not match AgentRun {name}: the run was replaced, or is {phase_of(run)}",
        )
    base = _annotation_prefix(body.consumer, phase)
    annotations: Marks = {
        f"{base}.at": rfc3339(request.service.now()),
        f"{base}.outcome": body.outcome or "acked",
        f"{base}.message": body.message or None,
        f"{base}.receipt": body.receiptRef or None,
        **body.annotations,
    }
    marked = await agent_runs.mark_agent_run(request.caller, run, annotations=annotations)
    document = {"ok": True, "eventId": body.eventId, "name": name, "namespace": namespace}
    return {**document, "consumer": body.consumer, "resource": marked}


async def not_projected(request: ApiRequest) -> Answer:
    del request
    raise Problem(
        404,
        "projection-authority is not implemented: AgentRuns are not copied to another system",
        fix="read the runs themselves: GET /v1/agent-runs/resources",
    )


def _resource(resource: Resource, obj: Obj) -> dict[str, Any]:
    return {
        "ok": True,
        "kind": resource.kind,
        "namespace": obj["metadata"]["namespace"],
        "resource": {"apiVersion": resource.api_version, "kind": resource.kind, **obj},
    }


def _reject_reserved(marks: Mapping[str, Any]) -> None:
    reserved = sorted(mark for mark in marks if mark.startswith(RESERVED_PREFIX))
    if reserved:
        raise Problem(422, f"{', '.join(reserved)}: reserved for the controllers", fix="choose other names")


def _annotation_prefix(consumer: str, phase: str) -> str:
    """Prefix of the annotations for a consumer. A name that is no valid part is replaced by its hash."""
    fits = PLAIN.fullmatch(consumer) is not None
    name = consumer if fits else hashlib.sha256(consumer.encode()).hexdigest()[:24]
    return f"{ACK}.{name}.{phase.lower()}"


def _event(obj: Obj, consumer: str) -> dict[str, Any]:
    meta, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    phase, annotations = phase_of(obj), meta.get("annotations") or {}
    base = _annotation_prefix(consumer, phase)
    at = annotations.get(f"{base}.at") if consumer else None
    parameters = spec.get("parameters") or {}
    return {
        "eventId": f"{meta['namespace']}/{meta['name']}/{meta['uid']}/{phase}",
        "name": meta["name"],
        "namespace": meta["namespace"],
        "uid": meta["uid"],
        "phase": phase,
        "runId": parameters.get("runId") or parameters.get("run_id"),
        "observedAt": status.get("finishedAt") or meta["creationTimestamp"],
        "acked": at is not None,
        "ackedAt": at,
        "ackOutcome": annotations.get(f"{base}.outcome") if consumer else None,
        "resource": obj,
        "status": status,
    }
