"""Routes of the older system that show AgentRuns and OrchestrationRuns as objects, mark them and tell of ends."""

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from jangar.api.phases import TERMINAL, Phase
from jangar.domain.times import rfc3339
from jangar.operations.agent_runs import AGENT_RUNS
from jangar.operations.run_reading import RUNS
from jangar.operations.submit import is_over, phase_of
from jangar.server.http.legacy_api import place
from jangar.server.http.problems import Problem
from jangar.server.http.request_models import InNamespace, Name
from jangar.server.http.table import Answer, Ask
from kubekit.client.api_client import Obj, PatchKind
from kubekit.client.errors import NotFound
from kubekit.client.resource import Resource

OURS: Final = "jangar.proompteng.ai/"
"""Labels and annotations by which the controllers find things: nobody else's to change."""
ACK: Final = "agents.proompteng.ai/terminal-ack"
PLAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9_.]{0,22}[a-z0-9])?")
MAX_COUNT: Final = 500

Key = Annotated[str, Field(pattern=r"^[!-~]{1,317}$")]
Marks = dict[Key, Annotated[str, Field(max_length=65536)] | None]
Text = Annotated[str, Field(max_length=1024)]


class _Asked(BaseModel):
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


class _Metadata(_Asked):
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


class AckBody(_Asked):
    """That a consumer has seen an end."""

    eventId: str = Field(  # noqa: N815 - the older system's name
        pattern=r"^[a-z0-9][-a-z0-9]{0,62}/[a-z0-9][-a-z0-9.]{0,252}/[-0-9A-Za-z]{1,64}/[A-Za-z]{1,20}$",
        description="namespace/name/uid/phase, as returned by terminal-events.",
    )
    consumer: Annotated[str, Field(min_length=1, max_length=1024)]
    outcome: Text | None = None
    message: Text | None = None
    receiptRef: Text | None = None  # noqa: N815 - the older system's name
    annotations: Marks = {}

    @property
    def namespace(self) -> str:
        """Where the right is asked for."""
        return self.eventId.partition("/")[0]


async def list_agent_run_resources(ask: Ask) -> Answer:
    where, wanted = place(ask), ask.query
    found = [
        item
        for item in await ask.who.client.list(AGENT_RUNS, where, labels=wanted.label_selector)
        if wanted.phase in (None, phase_of(item))
        and wanted.runtime in ("", ((item.get("spec") or {}).get("runtime") or {}).get("type"))
    ]
    found.sort(key=lambda item: str(item["metadata"]["creationTimestamp"]), reverse=True)
    reported = {"ok": True, "kind": AGENT_RUNS.kind, "namespace": where}
    return {**reported, "total": len(found), "items": found[: wanted.limit]}


async def show_orchestration_run_resource(ask: Ask) -> Answer:
    return _resource(RUNS, await ask.who.client.get(RUNS, ask.query.name, place(ask)))


async def mark_agent_run(ask: Ask) -> Answer:
    body, under = ask.body, ask.body.metadata
    labels, notes = body.labels | under.labels, body.annotations | under.annotations
    if not labels and not notes:
        raise Problem(400, "labels or annotations are required")
    _check(labels | notes)
    there = await ask.who.client.get(AGENT_RUNS, ask.query.name, place(ask))
    return _resource(AGENT_RUNS, await _marked(ask, there, labels=labels, annotations=notes))


async def list_terminal_events(ask: Ask) -> Answer:
    """Every end until the consumer acknowledges it: at least once, for as long as the object is there."""
    where, wanted = place(ask), ask.query
    ended = [item for item in await ask.who.client.list(AGENT_RUNS, where) if is_over(item)]
    events = [_event(item, wanted.consumer) for item in ended]
    events = [
        event
        for event in events
        if (not wanted.run_id_prefix or str(event["runId"] or "").startswith(wanted.run_id_prefix))
        and (wanted.include_acked or not event["acked"])
    ]
    events.sort(key=lambda item: str(item["observedAt"]), reverse=True)
    reported = {"ok": True, "namespace": where, "consumer": wanted.consumer or None}
    return {**reported, "total": len(events), "events": events[: wanted.limit]}


async def ack_terminal_event(ask: Ask) -> Answer:
    body = ask.body
    where, name, uid, phase = body.eventId.split("/")
    _check(body.annotations)
    try:
        there = await ask.who.client.get(AGENT_RUNS, name, where)
    except NotFound as error:
        raise Problem(404, f"AgentRun {name} not found in namespace {where}") from error
    if there["metadata"]["uid"] != uid or phase_of(there) != phase or phase not in TERMINAL:
        raise Problem(
            409,
            f"event {body.eventId} does not match AgentRun {name}: the run was replaced, or is {phase_of(there)}",
        )
    base = _acked(body.consumer, phase)
    notes: Marks = {
        f"{base}.at": rfc3339(ask.service.now()),
        f"{base}.outcome": body.outcome or "acked",
        f"{base}.message": body.message or None,
        f"{base}.receipt": body.receiptRef or None,
        **body.annotations,
    }
    marked = await _marked(ask, there, annotations=notes)
    reported = {"ok": True, "eventId": body.eventId, "name": name, "namespace": where}
    return {**reported, "consumer": body.consumer, "resource": marked}


async def not_projected(ask: Ask) -> Answer:
    del ask
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


def _check(marks: Mapping[str, Any]) -> None:
    ours = sorted(mark for mark in marks if mark.startswith(OURS))
    if ours:
        raise Problem(422, f"{', '.join(ours)}: reserved for the controllers", fix="choose other names")


async def _marked(ask: Ask, there: Obj, **marks: Marks) -> Obj:
    """Mark this very run, not another of its name."""
    meta = there["metadata"]
    body = {"metadata": {"uid": meta["uid"], **{name: item for name, item in marks.items() if item}}}
    return await ask.who.client.patch(AGENT_RUNS, meta["name"], meta["namespace"], body, kind=PatchKind.MERGE)


def _acked(consumer: str, phase: str) -> str:
    """The beginning of the annotations; a name that fits none stands as its hash, so that no two are one."""
    fits = PLAIN.fullmatch(consumer) is not None
    called = consumer if fits else hashlib.sha256(consumer.encode()).hexdigest()[:24]
    return f"{ACK}.{called}.{phase.lower()}"


def _event(obj: Obj, consumer: str) -> dict[str, Any]:
    meta, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    phase, notes = phase_of(obj), meta.get("annotations") or {}
    base = _acked(consumer, phase)
    at = notes.get(f"{base}.at") if consumer else None
    given = spec.get("parameters") or {}
    return {
        "eventId": f"{meta['namespace']}/{meta['name']}/{meta['uid']}/{phase}",
        "name": meta["name"],
        "namespace": meta["namespace"],
        "uid": meta["uid"],
        "phase": phase,
        "runId": given.get("runId") or given.get("run_id"),
        "observedAt": status.get("finishedAt") or meta["creationTimestamp"],
        "acked": at is not None,
        "ackedAt": at,
        "ackOutcome": notes.get(f"{base}.outcome") if consumer else None,
        "resource": obj,
        "status": status,
    }
