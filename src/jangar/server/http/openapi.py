"""The OpenAPI 3.1 document, made from the table of routes and the models. Pure."""

import re
from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from jangar.server.http import models
from jangar.server.http.guards import SAFE
from jangar.server.http.table import OPEN, PART, Entry

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


def document(entries: Sequence[Entry], version: str) -> dict[str, Any]:
    """What is served at /openapi.json."""
    used = {
        model: mode
        for entry in entries
        for model, mode in (
            (entry.body, "validation"),
            (entry.answers, "serialization"),
            (entry.query, "validation"),
        )
        if model is not None
    }
    used[models.Problem] = "serialization"
    # The literals are the two modes that pydantic knows.
    pairs: list[Any] = list(used.items())
    names, schemas = models_json_schema(pairs, ref_template=REF, by_alias=True)
    paths: dict[str, dict[str, Any]] = {}
    for entry in entries:
        paths.setdefault(entry.path, {})[entry.method.lower()] = _operation(entry, names, schemas["$defs"])
    queries = {names[entry.query, "validation"]["$ref"].rpartition("/")[2] for entry in entries}
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


def _operation(entry: Entry, names: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    query = definitions[names[entry.query, "validation"]["$ref"].rpartition("/")[2]]
    made: dict[str, Any] = {
        "operationId": entry.operation,
        "summary": entry.summary,
        "parameters": [*_in_path(entry), *_in_query(query), *_in_headers(entry)],
        "responses": _responses(entry, names),
        "security": [] if entry.access is OPEN else [{"bearer": []}],
    }
    if entry.body is not None:
        made["requestBody"] = {
            "required": not entry.body_optional,
            "content": {JSON: {"schema": names[entry.body, "validation"]}},
        }
    return made


def _in_path(entry: Entry) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1, "maxLength": 253, "pattern": PART.pattern},
        }
        for name in PARAMETER.findall(entry.path)
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
    """Of a value that may be left out; in a query there is no null."""
    found = {key: value for key, value in schema.items() if key not in {"title", "description"}}
    options = [item for item in found.get("anyOf", ()) if item.get("type") != "null"]
    if len(options) == 1:
        found.pop("anyOf")
        found = options[0] | {key: value for key, value in found.items() if value is not None}
    return found


def _in_headers(entry: Entry) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "header",
            "required": name in entry.needs,
            "description": meaning,
            "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
        }
        for name, meaning in entry.headers.items()
    ]


def _responses(entry: Entry, names: Any) -> dict[str, Any]:
    good: dict[str, Any] = {}
    if entry.answers is not None:
        good[JSON] = {"schema": names[entry.answers, "serialization"]}
    elif not entry.streams:
        kind = "text/plain" if entry.path == "/metrics" else JSON
        good[kind] = {"schema": {"type": "string"} if kind == "text/plain" else {}}
    if entry.streams:
        good["text/event-stream"] = {"schema": {"type": "string"}}
    found: dict[str, Any] = {str(entry.status): {"description": entry.summary, "content": good}}
    if entry.status != 200 and (entry.is_repeatable or "Idempotency-Key" in entry.headers):  # noqa: PLR2004
        found["200"] = {
            "description": "An earlier identical request already created the object.",
            "content": good,
        }
    for status in sorted(_refusals(entry)):
        schema: Any = {PROBLEM: {"schema": names[models.Problem, "serialization"]}}
        if entry.path == "/ready":
            schema = good
        found[str(status)] = {"description": _DESCRIPTIONS[status], "content": schema}
    return found


def _refusals(entry: Entry) -> set[int]:
    found = {421, *entry.refuses}
    if entry.access is not OPEN:
        found |= {400, 401, 403, 422, 429, 502, 503, 504}
    if issubclass(entry.query, BaseModel):
        found.add(400)
    if entry.body is not None:
        found |= {400, 413, 415, 422}
    if entry.method not in SAFE:
        found |= {403, 404, 409, 413}
    if "{" in entry.path:
        found.add(404)
    return found
