"""The route that shows one step closely: what was written, what it was given, its child, and that one's events."""

from typing import Any, Final

from pydantic import Field

from jangar.api.kinds import by_name
from jangar.api.phases import CHILD_OBJECTS
from jangar.controllers.resources import resource_of
from jangar.server.http import models, request_models, rights
from jangar.server.http.kind_reading import Shown, bare, events_of
from jangar.server.http.table import Answer, Ask, Entry
from jangar.server.reading import ReadRun
from jangar.server.step_logs import Source, source_of
from kubekit.client.errors import Forbidden, NotFound


class OneStepQuery(request_models.NoQuery):
    step: str = Field(
        min_length=1, max_length=1024, description="Name of the step; outer/inner for one of a nested run."
    )
    attempt: int | None = Field(None, ge=1, le=100000, description="Which attempt; else the latest.")


class StepShown(Shown):
    step: str
    attempt: int
    written: dict[str, Any] = Field(description="The step as its orchestration has it.")
    inputs: dict[str, str] = Field(description="What this attempt was given, references filled in.")
    object: dict[str, Any] | None = Field(description="The object that does the work of this attempt.")
    missing: str = Field(description="Why there is no object.")
    events: list[models.KubeEvent] = Field(description="Of the object, oldest first.")


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
    kind = by_name(CHILD_OBJECTS.get(source.state.kind, ""))
    if kind is None:
        return None, f"a step of kind {source.state.kind} makes no object"
    if source.child is None:
        return None, "it has not started"
    try:
        found = await ask.who.client.get(resource_of(kind), source.child, source.namespace)
    except NotFound:
        return None, f"{kind.name} {source.child} is gone"
    except Forbidden:
        return None, f"{ask.who.name} may not get {kind.plural} in namespace {source.namespace}"
    return bare(found), ""


def _written(run: ReadRun, name: str) -> dict[str, Any]:
    steps = run.view.definition.steps if run.view else ()
    found = next((each for each in steps if each.name == name), None)
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
        summary="One step closely: as written, as given, its object and events.",
    ),
)
