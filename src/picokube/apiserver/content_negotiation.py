"""What a client wants to be answered in: media type and shape, from its Accept header. Knows no object."""

from dataclasses import replace
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple

import orjson

from picokube.apiserver import errors
from picokube.apiserver.messages import Answer, Request, Response
from picokube.apiserver.resources import ResourceType
from picokube.apiserver.yaml_text import as_yaml

JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
MEDIA_TYPES = (JSON, YAML, PROTOBUF)
"""What a real server has. Protobuf is read here but never written: clients that want it accept JSON, too."""
STREAM_TYPES = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
SHAPES = frozenset({"Table", "PartialObjectMetadata", "PartialObjectMetadataList"})
VERSION = "/version"
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_READ_BY_EYE = ("curl", "Wget", "Mozilla/5.0")
_ANY = frozenset({"*/*", "application/*"})


class Form(NamedTuple):
    media: str
    shape: str = ""
    """Empty: objects as they are."""


@lru_cache(maxsize=256)
def asked_form(accept: str) -> Form | None:
    """The first form in an Accept header that there is."""
    for part in accept.split(",") if accept else ["*/*"]:
        media, *parameters = [piece.strip() for piece in part.split(";")]
        options = dict(piece.partition("=")[::2] for piece in parameters)
        media = JSON if media.lower() in _ANY else media.lower()
        if media in (JSON, YAML) and _has_shape(options):
            return Form(media, options.get("as", ""))
    return None


def _has_shape(options: dict[str, str]) -> bool:
    if "as" not in options:
        return True
    return options["as"] in SHAPES and options.get("g") == "meta.k8s.io" and options.get("v") == "v1"


def check_acceptable(request: Request, resource: ResourceType, verb: str) -> None:
    """Refuse what cannot be answered as its sender wants, before anything is done."""
    accept = request.headers.get("accept", "")
    if not accept or accept in (JSON, "*/*"):
        return
    if not resource.is_custom:
        _check_route(accept, verb)
    form = asked_form(accept)
    if form is None:
        raise errors.not_acceptable(MEDIA_TYPES)
    if verb == "watch" and form.media != JSON:
        raise errors.not_acceptable(STREAM_TYPES)


def _check_route(accept: str, verb: str) -> None:
    """Built-in kinds have routes, which are found by media type first."""
    produced = (*MEDIA_TYPES, *STREAM_TYPES) if verb in ("list", "watch") else MEDIA_TYPES
    if {"*/*", *produced} & {part.partition(";")[0].strip() for part in accept.split(",")}:
        return
    message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(produced)}"
    raise errors.ApiError(HTTPStatus.NOT_ACCEPTABLE, "NotAcceptable", message, details={})


def wants_indentation(request: Request) -> bool:
    """Who reads JSON with their eyes: who says so, and browsers, curl and Wget unless they say otherwise."""
    if request.path.rstrip("/") == VERSION:
        return True
    if stated := request.parameter("pretty"):
        return stated in _TRUE
    return request.headers.get("user-agent", "").startswith(_READ_BY_EYE)


def indented(request: Request, answer: Answer) -> Answer:
    """JSON answers of one piece; documents of OpenAPI are for machines."""
    if not isinstance(answer, Response) or not answer.content_type.startswith(JSON):
        return answer
    if not answer.body or request.path.startswith("/openapi"):
        return answer
    return replace(answer, body=orjson.dumps(orjson.loads(answer.body), option=orjson.OPT_INDENT_2))


def as_asked(request: Request, response: Response) -> Response:
    """A document that is JSON unless its reader prefers YAML: refusals, discovery."""
    form = asked_form(request.headers.get("accept", ""))
    if form is None or form.media != YAML or response.content_type != JSON or not response.body:
        return response
    return replace(response, body=as_yaml(response.body), content_type=YAML)
