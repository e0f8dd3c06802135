"""Makes the OpenAPI 3.1 document from the route table and the models."""

import re
from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from jangar.server.http import models
from jangar.server.http.guards import SAFE
from jangar.server.http.route import OPEN, PART, ApiRoute

REF: Final = "#/components/schemas/{model}"
PARAMETER: Final = re.compile(r"{(\w+)}")
JSON: Final = "application/json"
PROBLEM: Final = "application/problem+json"
_DESCRIPTIONS: Final = {
    400: "The request is malformed.",
    401: "The token or session is missing or invalid.",
    403: "The caller lacks the permission.",
    404: "The object does not exist.",
    409: "The state of the object does not allow this.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    421: "The Host header is not allowed.",
    422: "The request is invalid.",
    429: "The Kubernetes API limits the request rate.",
    502: "The Kubernetes API failed.",
    503: "A dependency is unreachable.",
    504: "The request timed out.",
}


def document(routes: Sequence[ApiRoute], version: str) -> dict[str, Any]:
    """The document served at /openapi.json."""
    used = {
        model: mode
        for route in routes
        for model, mode in (
            (route.body, "validation"),
            (route.answers, "serialization"),
            (route.query, "validation"),
        )
        if model is not None
    }
    used[models.Problem] = "serialization"
    # The literals are the two modes that pydantic knows.
    pairs: list[Any] = list(used.items())
    names, schemas = models_json_schema(pairs, ref_template=REF, by_alias=True)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, names, schemas["$defs"])
    queries = {names[route.query, "validation"]["$ref"].rpartition("/")[2] for route in routes}
    kept = {name: schema for name, schema in schemas["$defs"].items() if name not in queries}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Jangar",
            "version": version,
            "description": "Read, explain, start and control orchestration runs.",
        },
        "paths": paths,
        "components": {
            "schemas": kept,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: ApiRoute, names: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    query = definitions[names[route.query, "validation"]["$ref"].rpartition("/")[2]]
    operation: dict[str, Any] = {
        "operationId": route.operation,
        "summary": route.summary,
        "parameters": [*_in_path(route), *_in_query(query), *_in_headers(route)],
        "responses": _responses(route, names),
        "security": [] if route.access is OPEN else [{"bearer": []}],
    }
    if route.body is not None:
        operation["requestBody"] = {
            "required": not route.body_optional,
            "content": {JSON: {"schema": names[route.body, "validation"]}},
        }
    return operation


def _in_path(route: ApiRoute) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1, "maxLength": 253, "pattern": PART.pattern},
        }
        for name in PARAMETER.findall(route.path)
    ]


def _in_query(schema: dict[str, Any]) -> list[dict[str, Any]]:
    required = set(schema.get("required") or ())
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": item.get("description", ""),
            "schema": _plain(item),
        }
        for name, item in (schema.get("properties") or {}).items()
    ]


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an optional value; a query has no null."""
    found = {key: value for key, value in schema.items() if key not in {"title", "description"}}
    options = [item for item in found.get("anyOf", ()) if item.get("type") != "null"]
    if len(options) == 1:
        found.pop("anyOf")
        found = options[0] | {key: value for key, value in found.items() if value is not None}
    return found


def _in_headers(route: ApiRoute) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "header",
            "required": name in route.needs,
            "description": meaning,
            "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
        }
        for name, meaning in route.headers.items()
    ]


def _responses(route: ApiRoute, names: Any) -> dict[str, Any]:
    good: dict[str, Any] = {}
    if route.answers is not None:
        good[JSON] = {"schema": names[route.answers, "serialization"]}
    elif not route.streams:
        kind = "text/plain" if route.path == "/metrics" else JSON
        good[kind] = {"schema": {"type": "string"} if kind == "text/plain" else {}}
    if route.streams:
        good["text/event-stream"] = {"schema": {"type": "string"}}
    found: dict[str, Any] = {str(route.status): {"description": route.summary, "content": good}}
    if route.status != 200 and (route.is_repeatable or "Idempotency-Key" in route.headers):  # noqa: PLR2004
        found["200"] = {
            "description": "An earlier identical request already created the object.",
            "content": good,
        }
    for status in sorted(_refusals(route)):
        schema: Any = {PROBLEM: {"schema": names[models.Problem, "serialization"]}}
        if route.path == "/ready":
            schema = good
        found[str(status)] = {"description": _DESCRIPTIONS[status], "content": schema}
    return found


def _refusals(route: ApiRoute) -> set[int]:
    found = {421, *route.refuses}
    if route.access is not OPEN:
        found |= {400, 401, 403, 422, 429, 502, 503, 504}
    if issubclass(route.query, BaseModel):
        found.add(400)
    if route.body is not None:
        found |= {400, 413, 415, 422}
    if route.method not in SAFE:
        found |= {403, 404, 409, 413}
    if "{" in route.path:
        found.add(404)
    return found
