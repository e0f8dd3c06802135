"""OpenAPI v3: an index, and one document a group and version, made when first asked for and when its kinds change.

OpenAPI v2 is served by `openapi_v2`. What is in a document is said by `openapi_schemas` and `openapi_paths`.
"""

import hashlib
from http import HTTPStatus

import orjson

from picokube.apiserver.discovery import MAJOR, MINOR
from picokube.apiserver.messages import Request, Response, unchanged
from picokube.apiserver.openapi_paths import paths_of
from picokube.apiserver.openapi_schemas import components_of
from picokube.apiserver.registry import Registry
from picokube.apiserver.resources import JsonObject, ResourceType

ROOT = "/openapi/v3"
_BUILT_IN = {"title": "Kubernetes", "version": f"{MAJOR}.{MINOR}"}
_CUSTOM = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_TEXT = "text/plain; charset=utf-8"


class OpenApi:
    """Documents by place (`api/v1`, `apis/batch/v1`), each kept with the kinds it was made of."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._kinds: dict[str, list[ResourceType]] = {}
        self._generation = -1
        self._documents: dict[str, tuple[list[ResourceType], bytes, str]] = {}

    def answer(self, request: Request) -> Response | None:
        if request.path == ROOT:
            index = {"paths": {place: {"serverRelativeURL": self._url(place)} for place in self._places()}}
            return Response(body=orjson.dumps(index), content_type=_TEXT)
        if not request.path.startswith(f"{ROOT}/"):
            return None
        place = request.path.removeprefix(f"{ROOT}/")
        if place not in self._places():
            return Response(status=HTTPStatus.NOT_FOUND, content_type="")
        document, digest = self._document(place)
        headers = (("ETag", f'"{digest}"'), ("Vary", "Accept"))
        asked = request.parameter("hash")
        if asked is not None and asked != digest:
            moved = (*headers, ("Location", self._url(place)))
            return Response(status=HTTPStatus.MOVED_PERMANENTLY, headers=moved)
        if request.headers.get("if-none-match") == f'"{digest}"':
            return unchanged(headers)
        return Response(body=document, headers=headers)

    def _places(self) -> dict[str, list[ResourceType]]:
        """Which kinds are described where."""
        if self._generation != self._registry.generation:
            found: dict[str, list[ResourceType]] = {}
            for item in self._registry:
                found.setdefault(_place(item), []).append(item)
            self._kinds = {place: found[place] for place in sorted(found)}
            self._documents = {place: made for place, made in self._documents.items() if place in self._kinds}
            self._generation = self._registry.generation
        return self._kinds

    def _url(self, place: str) -> str:
        return f"{ROOT}/{place}?hash={self._document(place)[1]}"

    def _document(self, place: str) -> tuple[bytes, str]:
        """The document and its digest. Kinds never change: other kinds make another document."""
        kinds = self._places()[place]
        made = self._documents.get(place)
        if made is None or not _are_same(made[0], kinds):
            document = orjson.dumps(_written(place, kinds))
            digest = hashlib.sha512(document).hexdigest().upper()
            made = self._documents[place] = (kinds, document, digest)
        return made[1], made[2]


def _are_same(one: list[ResourceType], other: list[ResourceType]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _place(resource: ResourceType) -> str:
    return f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"


def _written(place: str, kinds: list[ResourceType]) -> JsonObject:
    kinds = sorted(kinds, key=lambda item: item.plural)
    paths: JsonObject = {}
    for kind in kinds:
        paths |= paths_of(f"/{place}", kind)
    return {
        "openapi": "3.0.0",
        "info": _CUSTOM if all(kind.is_custom for kind in kinds) else _BUILT_IN,
        "paths": {path: paths[path] for path in sorted(paths)},
        "components": {"schemas": components_of(kinds)},
    }
