"""Routes that read objects of every kind, and one step of a run with the object that it created."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from pydantic import Field

from jangar.api.kind import Kind
from jangar.api.kinds import KINDS, by_name
from jangar.api.not_built import KINDS_NOT_BUILT
from jangar.controllers.resources import resource_of
from jangar.kinds.registry import step_adapter
from jangar.operations.caller import RunRef
from jangar.operations.objects import get_objects, list_events
from jangar.operations.run_documents import event_document
from jangar.operations.run_reading import ReadRun, get_run
from jangar.operations.step_logs import LogSource, find_log_source
from jangar.server.http import models, request_models, rights
from jangar.server.http.identity import Right
from jangar.server.http.models import ResponseModel
from jangar.server.http.problems import Problem
from jangar.server.http.route import KNOWN, Answer, ApiRequest, ApiRoute
from kubekit.client.api_client import Obj
from kubekit.client.errors import Forbidden, NotFound

MAX_OBJECTS: Final = 1000
MAX_EVENTS: Final = 100


class KindColumn(ResponseModel):
    name: str
    path: str = Field(description="JSONPath into the object.")
    type: str
    description: str
    priority: int


class KindShown(ResponseModel):
    name: str
    plural: str
    group: str
    api_version: str
    short_names: list[str]
    description: str
    not_built: bool = Field(description="true if no controller handles this kind yet.")
    instead: str = Field(description="Alternative until the kind is implemented.")
    columns: list[KindColumn]


class KindsShown(ResponseModel):
    items: list[KindShown]


class KindDetail(KindShown):
    spec_schema: dict[str, Any] = Field(description="JSON Schema of spec.")
    status_schema: dict[str, Any] = Field(description="JSON Schema of status.")


class KindObjects(ResponseModel):
    items: list[dict[str, Any]] = Field(description="Kubernetes objects, newest first.")
    truncated: bool = Field(description="true if more objects exist.")


class KindObject(ResponseModel):
    object: dict[str, Any]
    events: list[models.KubeEvent]


class OneStepQuery(request_models.NoQuery):
    step: str = Field(
        min_length=1, max_length=1024, description="Name of the step; outer/inner for a step of a nested run."
    )
    attempt: int | None = Field(None, ge=1, le=100000, description="Attempt number (default: the latest).")


class StepShown(ResponseModel):
    step: str
    attempt: int
    written: dict[str, Any] = Field(description="The step as defined in the orchestration.")
    inputs: dict[str, str] = Field(description="Inputs of this attempt with references resolved.")
    object: dict[str, Any] | None = Field(description="The object that this attempt created.")
    missing: str = Field(description="Why there is no object.")
    events: list[models.KubeEvent] = Field(description="Events of the object, oldest first.")


async def list_kinds(request: ApiRequest) -> Answer:
    del request
    return {"items": [_kind_document(kind) for kind in KINDS]}


async def show_kind(request: ApiRequest) -> Answer:
    kind = _kind(request)
    return {**_kind_document(kind), **_schemas(kind.name)}


async def list_objects(request: ApiRequest) -> Answer:
    """Objects in the namespaces that the caller may list, with the caller's permissions."""
    kind = _kind(request)
    visible = await request.visible(Right("list", kind.group, kind.plural), required=True)
    namespaces = [None] if visible is None else sorted(visible)
    objects = [
        obj
        for namespace in namespaces
        for obj in await get_objects(request.caller, resource_of(kind), namespace)
    ]
    objects.sort(key=lambda obj: str(obj["metadata"]["creationTimestamp"]), reverse=True)
    items = [without_managed_fields(obj) for obj in objects[:MAX_OBJECTS]]
    return {"items": items, "truncated": len(objects) > MAX_OBJECTS}


async def show_object(request: ApiRequest) -> Answer:
    kind, namespace, name = _kind(request), request.path["namespace"], request.path["name"]
    await request.require(Right("get", kind.group, kind.plural), namespace)
    (obj,) = await get_objects(request.caller, resource_of(kind), namespace, [name])
    return {"object": without_managed_fields(obj), "events": await _events(request, obj)}


async def show_step(request: ApiRequest) -> Answer:
    caller = request.caller
    read = await get_run(caller, request.run)
    source = await find_log_source(caller.runs, read, request.query.step, request.query.attempt)
    is_own = source.run_uid == read.identity.uid
    run = read if is_own else await get_run(caller, RunRef(namespace=source.namespace, name=source.run))
    obj, missing = await _child(request, source)
    return {
        "step": source.path,
        "attempt": source.attempt,
        "written": _step_definition(run, source.state.name),
        "inputs": ((obj or {}).get("spec") or {}).get("parameters") or {},
        "object": obj,
        "missing": missing,
        "events": await _events(request, obj) if obj else [],
    }


async def _child(request: ApiRequest, source: LogSource) -> tuple[Obj | None, str]:
    """The object of an attempt, with the caller's permissions, or why there is none."""
    kind = step_adapter(source.state.kind).child
    if kind is None:
        return None, f"a step of kind {source.state.kind} creates no object"
    if source.child is None:
        return None, "the step has not started"
    try:
        (obj,) = await get_objects(request.caller, resource_of(kind), source.namespace, [source.child])
    except NotFound:
        return None, f"{kind.name} {source.child} no longer exists"
    except Forbidden:
        return None, f"{request.principal.name} may not get {kind.plural} in namespace {source.namespace}"
    return without_managed_fields(obj), ""


def _step_definition(run: ReadRun, name: str) -> dict[str, Any]:
    steps = run.view.definition.steps if run.view else ()
    step = next((step for step in steps if step.name == name), None)
    if step is None or step.source is None:
        return {}
    return step.source.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)


async def _events(request: ApiRequest, obj: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The newest events of an object, oldest first; empty if the caller may not list them."""
    if not await request.principal.rights.has(rights.LIST_EVENTS, obj["metadata"]["namespace"]):
        return []
    events = map(event_document, await list_events(request.caller, obj))
    return sorted(events, key=lambda event: str(event["lastAt"]))[-MAX_EVENTS:]


def _kind(request: ApiRequest) -> Kind:
    name = request.path["kind"]
    kind = by_name(name)
    if kind is None:
        raise Problem(404, f"unknown kind {name!r}", fix="GET /v1/kinds lists them")
    return kind


def _kind_document(kind: Kind) -> dict[str, Any]:
    return {
        "name": kind.name,
        "plural": kind.plural,
        "group": kind.group,
        "apiVersion": kind.api_version,
        "shortNames": list(kind.short_names),
        "description": kind.summary,
        "notBuilt": kind.name in KINDS_NOT_BUILT,
        "instead": KINDS_NOT_BUILT[kind.name].instead if kind.name in KINDS_NOT_BUILT else "",
        "columns": [
            {
                "name": column.name,
                "path": column.path,
                "type": column.type,
                "description": column.description,
                "priority": column.priority,
            }
            for column in kind.columns
        ],
    }


@cache
def _schemas(name: str) -> dict[str, Any]:
    kind = by_name(name)
    assert kind is not None  # noqa: S101 - the caller found it by this name
    return {
        "specSchema": kind.spec.model_json_schema(by_alias=True),
        "statusSchema": kind.status.model_json_schema(by_alias=True, mode="serialization"),
    }


def without_managed_fields(obj: Obj) -> Obj:
    meta = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {**obj, "metadata": meta}


ROUTES: Final[tuple[ApiRoute, ...]] = (
    ApiRoute(
        method="GET",
        path="/v1/kinds",
        handler=list_kinds,
        access=KNOWN,
        answers=KindsShown,
        summary="List kinds and their table columns.",
    ),
    ApiRoute(
        method="GET",
        path="/v1/kinds/{kind}",
        handler=show_kind,
        access=KNOWN,
        answers=KindDetail,
        refuses=(404,),
        summary="Get a kind and its schema.",
    ),
    ApiRoute(
        method="GET",
        path="/v1/kinds/{kind}/objects",
        handler=list_objects,
        access=KNOWN,
        query=request_models.InNamespace,
        answers=KindObjects,
        refuses=(403, 404),
        summary="List objects of a kind.",
    ),
    ApiRoute(
        method="GET",
        path="/v1/namespaces/{namespace}/kinds/{kind}/{name}",
        handler=show_object,
        access=KNOWN,
        answers=KindObject,
        refuses=(403, 404),
        summary="Get an object and its events.",
    ),
    ApiRoute(
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
