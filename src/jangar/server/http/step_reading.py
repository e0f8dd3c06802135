"""The route that shows one step closely: what was written, what it was given, its child, and that one's events."""

from typing import Any, Final

from pydantic import Field

from jangar.controllers.resources import resource_of
from jangar.kinds.registry import step_adapter
from jangar.server.http import models, request_models, rights
from jangar.server.http.kind_reading import Shown, bare, events_of
from jangar.server.http.table import Answer, Ask, Entry
from jangar.server.reading import ReadRun
from jangar.server.step_logs import Source, source_of
from kubekit.client.errors import Forbidden, NotFound


class OneStepQuery(request_models.NoQuery):
    step: str = Field(
        min_length=1, max_length=1024, description="Name of the step; outer/inner for a step of a nested run."
    )
    attempt: int | None = Field(None, ge=1, le=100000, description="Attempt number (default: the latest).")


class StepShown(Shown):
    step: str
    attempt: int
    written: dict[str, Any] = Field(description="The step as defined in the orchestration.")
    inputs: dict[str, str] = Field(description="Inputs of this attempt with references resolved.")
    object: dict[str, Any] | None = Field(description="The object that this attempt created.")
    missing: str = Field(description="Why there is no object.")
    events: list[models.KubeEvent] = Field(description="Events of the object, oldest first.")


async def show_step(ask: Ask) -> Answer:
    read_run = ask.service.reads.read
    read = await read_run(ask.path["namespace"], ask.path["name"])
    source = await source_of(read_run, read, ask.query.step, ask.query.attempt)
    within = read if source.run_uid == read.identity.uid else await read_run(source.namespace, source.run)
    obj, missing = await _child(ask, source)
    spec = (obj or {}).get("spec") or {}
    return {
        "step": source.path,
        "attempt": source.attempt,
        "written": _written(within, source.state.name),
        "inputs": spec.get("parameters") or {},
        "object": obj,
        "missing": missing,
        "events": await events_of(ask, obj) if obj else [],
    }


async def _child(ask: Ask, source: Source) -> tuple[dict[str, Any] | None, str]:
    """As the caller may see it."""
    kind = step_adapter(source.state.kind).child
    if kind is None:
        return None, f"a step of kind {source.state.kind} creates no object"
    if source.child is None:
        return None, "the step has not started"
    try:
        found = await ask.who.client.get(resource_of(kind), source.child, source.namespace)
    except NotFound:
        return None, f"{kind.name} {source.child} no longer exists"
    except Forbidden:
        return None, f"{ask.who.name} may not get {kind.plural} in namespace {source.namespace}"
    return bare(found), ""


def _written(run: ReadRun, name: str) -> dict[str, Any]:
    steps = run.view.definition.steps if run.view else ()
    found = next((step for step in steps if step.name == name), None)
    if found is None or found.source is None:
        return {}
    return found.source.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)


ROUTES: Final[tuple[Entry, ...]] = (
    Entry(
        method="GET",
        path="/v1/namespaces/{namespace}/runs/{name}/step",
        handler=show_step,
        access=rights.GET_RUN,
        query=OneStepQuery,
        answers=StepShown,
        refuses=(404,),
        summary="Get a step: its definition, inputs, object and events.",
    ),
)
