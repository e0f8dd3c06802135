"""Decodes request bodies (JSON, YAML or protobuf) and reports what strict decoding rejects; encodes YAML.

Messages are those of Go's decoders, which Kubernetes users know. Kinds decode objects further (`Strategy.decode`).
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import yaml
from yaml.resolver import Resolver

from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import JsonObject, Request

_GO_MESSAGES = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Illegal trailing comma before end of object": "looking for beginning of object key string",
    "Illegal trailing comma before end of array": "looking for beginning of value",
    "Expecting ':' delimiter": "after object key",
    "Extra data": "after top-level value",
    "Invalid control character at": "in string literal",
}


def json_problem(body: bytes) -> str:
    """The first thing wrong with a body that is no JSON."""
    try:
        # Numbers stay strings: Python refuses very long ones with its own message.
        json.loads(body, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        return _go_problem(error)
    except (UnicodeDecodeError, RecursionError):
        return "invalid character looking for beginning of value"
    return "unexpected end of JSON input"


def _go_problem(error: json.JSONDecodeError) -> str:
    at = error.pos + (1 if error.msg.startswith("Illegal trailing comma") else 0)
    while at < len(error.doc) and error.doc[at].isspace():
        at += 1
    if at >= len(error.doc) or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    where = _GO_MESSAGES.get(error.msg) or _delimiter_context(error)
    return f"invalid character {_quoted_char(error.doc[at])} {where}"


def _delimiter_context(error: json.JSONDecodeError) -> str:
    if error.msg == "Expecting ',' delimiter":
        before = error.doc[: error.pos]
        within_object = before.rfind("{") > before.rfind("[")
        return "after object key:value pair" if within_object else "after array element"
    return "in string escape code" if "escape" in error.msg else "looking for beginning of value"


def _quoted_char(character: str) -> str:
    if character == "'":
        return "'\\''"
    if character.isprintable():
        return f"'{character}'"
    return f"'\\u{ord(character):04x}'"


_JSON_KINDS: Final = {
    type(None): "null",
    bool: "bool",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
}


def json_kind(document: object) -> str:
    """Go's name of the kind of a JSON value."""
    return _JSON_KINDS.get(type(document), "object")


MAX_YAML_DEPTH = 500
MAX_YAML_NODES = 500_000
_OPENING = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_CLOSING = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


class YamlTooLarge(yaml.YAMLError):
    """A document that would cost more than any object is worth."""


def load_yaml(body: bytes) -> tuple[Any, list[str]]:
    """The document, and repeated keys of maps with the messages of Go's YAML. Raises YAMLError."""
    _check_depth(body)
    loader = yaml.CSafeLoader(body)
    try:
        node = loader.get_single_node()
        if node is None:
            return None, []
        nodes = _each_once(node)
        _check_expansion(nodes)
        return loader.construct_document(node), _repeated_keys(nodes)
    finally:
        loader.dispose()


def _check_depth(body: bytes) -> None:
    depth = 0
    for event in yaml.parse(body, Loader=yaml.CSafeLoader):
        depth += isinstance(event, _OPENING) - isinstance(event, _CLOSING)
        if depth > MAX_YAML_DEPTH:
            raise YamlTooLarge("exceeded max depth")


def _each_once(root: yaml.Node) -> list[yaml.Node]:
    """Every node once, children before their parents; an alias is the node that it names."""
    ordered: list[yaml.Node] = []
    seen: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            ordered.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in _children(node))
    return ordered


def _children(node: yaml.Node) -> list[yaml.Node]:
    match node:
        case yaml.MappingNode():
            return [item for pair in node.value for item in pair]
        case yaml.SequenceNode():
            return list(node.value)
        case _:
            return []


def _check_expansion(nodes: list[yaml.Node]) -> None:
    """How large the document is once every alias is written out; one that holds itself never ends."""
    sizes: dict[int, int] = {}
    for node in nodes:
        children = _children(node)
        if any(id(child) not in sizes for child in children):
            raise YamlTooLarge("anchor value contains itself")
        sizes[id(node)] = 1 + sum(sizes[id(child)] for child in children)
        if sizes[id(node)] > MAX_YAML_NODES:
            raise YamlTooLarge("document contains excessive aliasing")


def _repeated_keys(nodes: list[yaml.Node]) -> list[str]:
    found: list[str] = []
    for node in nodes:
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, _ in node.value:
                if isinstance(key.value, str) and key.value in seen:
                    found.append(f'line {key.start_mark.line + 1}: key "{key.value}" already set in map')
                elif isinstance(key.value, str):
                    seen.add(key.value)
    return found


_YAML_1_1_BOOLEANS = frozenset({"y", "Y", "n", "N"})
_YAML_NUMBER = re.compile(
    r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?0[box][0-9a-fA-F_]+"
)
_RESOLVER = Resolver()


class _YamlDumper(yaml.CSafeDumper):
    """Writes no anchors: a document is a tree."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _represent_text(dumper: _YamlDumper, text: str) -> yaml.ScalarNode:
    tag = "tag:yaml.org,2002:str"
    if "\n" in text:
        return dumper.represent_scalar(tag, text, style="|")
    meant = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    is_doubtful = meant != tag or text in _YAML_1_1_BOOLEANS or _YAML_NUMBER.fullmatch(text)
    style = '"' if is_doubtful else None
    return dumper.represent_scalar(tag, text, style=style)


_YamlDumper.add_representer(str, _represent_text)


def as_yaml(document: bytes) -> bytes:
    """From JSON; ends with a line break."""
    text = yaml.dump(
        orjson.loads(document),
        Dumper=_YamlDumper,
        default_flow_style=False,
        allow_unicode=True,
        encoding="utf-8",
    )
    found: bytes = text
    return found


JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"

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
    """`duplicate field "spec.x"` for each key that an object repeats, in document order.

    `document` is the decoded body.
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
    """Whether the body is the compact encoding of the document: then no key is repeated."""
    try:
        return orjson.dumps(document) == body
    except (ValueError, TypeError):
        return False


class _Members(list[tuple[str, Any]]):
    """Members of a JSON object in document order, repeated ones included."""


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
