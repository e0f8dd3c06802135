"""From the bytes of a request to an object: JSON, YAML or protobuf, with what strict decoding would refuse.

Knows media types and duplicate keys; knows no kind. Kinds decode themselves further (`Strategy.decode`).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
import yaml

from picokube.apiserver import errors
from picokube.apiserver.go_json import json_kind, json_problem
from picokube.apiserver.messages import Request
from picokube.apiserver.resources import JsonObject
from picokube.apiserver.yaml_body import load_yaml

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
MAX_DEPTH = 200

Protobuf = Callable[[bytes], JsonObject]
"""Decodes a protobuf body into the object it holds."""


@dataclass(slots=True, kw_only=True)
class Decoded:
    """An object as it was sent, and what a strict reader would refuse about the text."""

    object: JsonObject
    strict_problems: list[str] = field(default_factory=list)


def media_type(request: Request) -> str:
    return request.headers.get("content-type", "").split(";")[0].strip().lower()


def decode_object(request: Request, *, protobuf: Protobuf | None) -> Decoded:
    """The object in the body of a create or update."""
    found = media_type(request)
    match found:
        case "application/json" | "":
            return decode_json(request.body)
        case "application/yaml":
            return decode_yaml(request.body)
        case "application/vnd.kubernetes.protobuf" if protobuf is not None:
            return Decoded(object=protobuf(request.body))
        case _:
            raise errors.unsupported_media_type([JSON, YAML, PROTOBUF])


def decode_json(body: bytes) -> Decoded:
    document = read_json(body)
    if document is None:
        return Decoded(object={})
    if not isinstance(document, dict):
        raise errors.bad_request(_not_an_object(document))
    return Decoded(object=document, strict_problems=duplicate_keys(body, document))


def read_json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise errors.bad_request(
            f"couldn't get version/kind; json parse error: {json_problem(body)}"
        ) from error


def decode_yaml(body: bytes) -> Decoded:
    """YAML as Kubernetes takes it: whatever has no JSON form is refused."""
    plain, repeated = read_yaml(body)
    if not isinstance(plain, dict):
        raise errors.bad_request(_not_an_object(plain))
    return Decoded(object=plain, strict_problems=repeated)


def read_yaml(body: bytes) -> tuple[Any, list[str]]:
    """The document as JSON would hold it, and the keys it repeats."""
    try:
        document, repeated = load_yaml(body)
        return orjson.loads(orjson.dumps(document)), repeated
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        raise errors.bad_request(f"yaml: line {line}: {error.problem}") from error
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, TypeError, RecursionError) as error:
        raise errors.bad_request(f"yaml: {error}") from error


def _not_an_object(document: Any) -> str:
    kind = json_kind(document)
    return (
        "couldn't get version/kind; json parse error: json: cannot unmarshal "
        f'{kind} into Go value of type struct {{ APIVersion string "json:\\"apiVersion,omitempty\\""; '
        'Kind string "json:\\"kind,omitempty\\"" }'
    )


def duplicate_keys(body: bytes, document: Any) -> list[str]:
    """`duplicate field "spec.x"` for each key that an object repeats, in the order they stand.

    `document` is what was read from the body, as it was read.
    """
    if _is_compact(body, document):
        return []
    repeated = False

    def plain(items: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        found = dict(items)
        repeated = repeated or len(found) < len(items)
        return found

    try:
        json.loads(body, object_pairs_hook=plain)
        if not repeated:
            return []
        paths: list[str] = []
        _walk(json.loads(body, object_pairs_hook=_Members), "", paths)
    except (ValueError, RecursionError):
        return []
    return [f'duplicate field "{path}"' for path in paths]


def _is_compact(body: bytes, document: Any) -> bool:
    """Whether it is, byte for byte, what is written of what is read from it: then nothing was read twice."""
    try:
        return orjson.dumps(document) == body
    except (ValueError, TypeError):
        return False


class _Members(list[tuple[str, Any]]):
    """Members of a JSON object as they stand, repeated ones included."""


def _walk(value: Any, path: str, paths: list[str]) -> None:
    if isinstance(value, _Members):
        seen: set[str] = set()
        for key, member in value:
            here = f"{path}.{key}" if path else key
            if key in seen:
                paths.append(here)
            seen.add(key)
            _walk(member, here, paths)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _walk(item, f"{path}[{index}]", paths)
