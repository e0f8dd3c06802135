"""Routes that show objects of every kind, from the table of kinds: its columns, its schema, and what there is of it."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from jangar.api.kind import Kind
from jangar.api.kinds import KINDS, by_name
from jangar.api.not_built import KINDS_NOT_BUILT
from jangar.controllers.resources import resource_of
from jangar.operations import run_documents as documents
from jangar.server.http import models, request_models
from jangar.server.http.identity import Right
from jangar.server.http.problems import Problem
from jangar.server.http.rights import LIST_EVENTS
from jangar.server.http.table import KNOWN, Answer, Ask, Entry
from kubekit.client.api_client import Obj
from kubekit.client.builtin import EVENTS

SHOWN: Final = 1000
SHOWN_EVENTS: Final = 100


class Shown(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class KindColumn(Shown):
    name: str
    path: str = Field(description="JSONPath into the object.")
    type: str
    description: str
    priority: int


class KindShown(Shown):
    name: str
    plural: str
    group: str
    api_version: str
    short_names: list[str]
    description: str
    not_built: bool = Field(description="true if no controller handles this kind yet.")
    instead: str = Field(description="Alternative until the kind is implemented.")
    columns: list[KindColumn]


class KindsShown(Shown):
    items: list[KindShown]


class KindDetail(KindShown):
    spec_schema: dict[str, Any] = Field(description="JSON Schema of spec.")
    status_schema: dict[str, Any] = Field(description="JSON Schema of status.")


class KindObjects(Shown):
    items: list[dict[str, Any]] = Field(description="Kubernetes objects, newest first.")
    truncated: bool = Field(description="true if more objects exist.")


class KindObject(Shown):
    object: dict[str, Any]
    events: list[models.KubeEvent]


async def list_kinds(ask: Ask) -> Answer:
    del ask
    return {"items": [_shown(kind) for kind in KINDS]}


async def show_kind(ask: Ask) -> Answer:
    kind = _kind(ask)
    return {**_shown(kind), **_schemas(kind.name)}


async def list_objects(ask: Ask) -> Answer:
    """With the caller's own rights, in the namespaces that they may see."""
    kind = _kind(ask)
    right = Right("list", kind.group, kind.plural)
    visible = await ask.service.visible(ask.who, right, ask.query.namespace)
    if visible is not None and not visible:
        raise Problem(403, f"{ask.who.name} may not {right} in {ask.query.namespace or 'any namespace'}")
    places = [None] if visible is None else sorted(visible)
    found = [
        item for place in places for item in await ask.who.client.list(resource_of(kind), namespace=place)
    ]
    found.sort(key=lambda item: str(item["metadata"]["creationTimestamp"]), reverse=True)
    return {"items": [bare(item) for item in found[:SHOWN]], "truncated": len(found) > SHOWN}


async def show_object(ask: Ask) -> Answer:
    kind, namespace, name = _kind(ask), ask.path["namespace"], ask.path["name"]
    right = Right("get", kind.group, kind.plural)
    if not await ask.who.rights.has(right, namespace):
        raise Problem(403, f"{ask.who.name} may not {right} in namespace {namespace}")
    found = await ask.who.client.get(resource_of(kind), name, namespace)
    return {"object": bare(found), "events": await events_of(ask, found)}


async def events_of(ask: Ask, obj: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The newest of one object, oldest first; none for somebody who may not list them."""
    meta = obj["metadata"]
    if not await ask.who.rights.has(LIST_EVENTS, meta["namespace"]):
        return []
    fields = f"involvedObject.uid={meta['uid']}"
    found = await ask.who.client.list(EVENTS, meta["namespace"], fields=fields)
    reported = sorted((documents.event(item) for item in found), key=lambda item: str(item["lastAt"]))
    return reported[-SHOWN_EVENTS:]


def _kind(ask: Ask) -> Kind:
    name = ask.path["kind"]
    kind = by_name(name)
    if kind is None:
        raise Problem(404, f"unknown kind {name!r}", fix="GET /v1/kinds lists them")
    return kind


def _shown(kind: Kind) -> dict[str, Any]:
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
    assert kind is not None  # noqa: S101 - it was found by this name
    return {
        "specSchema": kind.spec.model_json_schema(by_alias=True),
        "statusSchema": kind.status.model_json_schema(by_alias=True, mode="serialization"),
    }


def bare(obj: Obj) -> Obj:
    """Without the bookkeeping of who wrote which field, which nobody reads."""
    meta = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {**obj, "metadata": meta}


ROUTES: Final[tuple[Entry, ...]] = (
    Entry(
        method="GET",
        path="/v1/kinds",
        handler=list_kinds,
        access=KNOWN,
        answers=KindsShown,
        summary="List kinds and their table columns.",
    ),
    Entry(
        method="GET",
        path="/v1/kinds/{kind}",
        handler=show_kind,
        access=KNOWN,
        answers=KindDetail,
        refuses=(404,),
        summary="Get a kind and its schema.",
    ),
    Entry(
        method="GET",
        path="/v1/kinds/{kind}/objects",
        handler=list_objects,
        access=KNOWN,
        query=request_models.InNamespace,
        answers=KindObjects,
        refuses=(403, 404),
        summary="List objects of a kind.",
    ),
    Entry(
        method="GET",
        path="/v1/namespaces/{namespace}/kinds/{kind}/{name}",
        handler=show_object,
        access=KNOWN,
        answers=KindObject,
        refuses=(403, 404),
        summary="Get an object and its events.",
    ),
)
