"""ConfigMaps and Secrets: keys that become file names, a size limit, and immutable data."""

import base64
import json
from typing import Any, Final

from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    Problems,
    config_key_problems,
    forbidden,
    immutable,
    invalid,
    required,
)
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.printing import created
from picokube.schema.errors import too_long

MAX_BYTES: Final = 1024 * 1024
_IMMUTABLE: Final = "field is immutable when `immutable` is set"
_REDACTED: Final = "<secret contents redacted>"
_REQUIRED_KEYS: Final = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
_DOCKER_KEYS: Final = {
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
    "kubernetes.io/dockercfg": ".dockercfg",
}
_ACCOUNT: Final = "kubernetes.io/service-account.name"


class ConfigMap(Kind):
    """A config map."""

    def problems(self, obj: Json) -> Problems:
        text, binary = obj.get("data") or {}, obj.get("binaryData") or {}
        for key in text:
            yield from _key_problems("data", key)
            if key in binary:
                yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        for key in binary:
            yield from _key_problems("binaryData", key)
        size = sum(len(item.encode()) for item in text.values()) + sum(map(_size, binary.values()))
        if size > MAX_BYTES:
            yield too_long("[]", MAX_BYTES)

    def update_problems(self, obj: Json, old: Json) -> Problems:
        yield from _immutable_problems(obj, old, ("data", "binaryData"))
        yield from self.problems(obj)

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), created(obj)]


class Secret(Kind):
    """A secret."""

    def default(self, obj: JsonObject) -> None:
        if not obj.get("type"):
            obj["type"] = "Opaque"
        if plain := obj.pop("stringData", None):
            encoded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
            obj["data"] = (obj.get("data") or {}) | encoded

    def reset_update(self, obj: JsonObject, old: Json, _subresource: str) -> None:
        if obj.get("type") == "Opaque" and not old.get("type"):
            self._put_back(obj, old, "type")

    def problems(self, obj: Json) -> Problems:
        data = obj.get("data") or {}
        for key in sorted(data):
            yield from _key_problems("data", key)
        if sum(map(_size, data.values())) > MAX_BYTES:
            yield too_long("data", MAX_BYTES)
        yield from _type_problems(obj, data)

    def update_problems(self, obj: Json, old: Json) -> Problems:
        yield from immutable("type", obj.get("type"), old.get("type"))
        yield from _immutable_problems(obj, old, ("data",))
        yield from self.problems(obj)

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        if obj.get("type") == "kubernetes.io/tls" and (old is None or old.get("data") != obj.get("data")):
            certificate = (obj.get("data") or {}).get("tls.crt", "")
            if b"-----BEGIN" not in base64.b64decode(certificate):
                return ["tls: failed to find any PEM data in certificate input"]
        return []

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [obj.get("type", ""), len(obj.get("data") or ()), created(obj)]


def _key_problems(field: str, key: str) -> Problems:
    return (invalid(f"{field}[{key}]", key, problem) for problem in config_key_problems(key))


def _size(encoded: str | None) -> int:
    """Bytes that a base64 text encodes."""
    return len(encoded) * 3 // 4 - encoded[-2:].count("=") if encoded else 0


def _immutable_problems(obj: Json, old: Json, names: tuple[str, ...]) -> Problems:
    if not old.get("immutable"):
        return
    if not obj.get("immutable"):
        yield forbidden("immutable", _IMMUTABLE)
    yield from (
        forbidden(name, _IMMUTABLE) for name in names if (obj.get(name) or {}) != (old.get(name) or {})
    )


def _type_problems(obj: Json, data: Json) -> Problems:
    kind = obj.get("type", "")
    yield from (required(f"data[{key}]") for key in _REQUIRED_KEYS.get(kind, ()) if key not in data)
    if kind == "kubernetes.io/basic-auth" and "username" not in data and "password" not in data:
        yield required("data[username]")
        yield required("data[password]")
    elif kind == "kubernetes.io/service-account-token":
        if not (obj["metadata"].get("annotations") or {}).get(_ACCOUNT):
            yield required(f"metadata.annotations[{_ACCOUNT}]")
    elif key := _DOCKER_KEYS.get(kind):
        if key not in data:
            yield required(f"data[{key}]")
        elif problem := _json_problem(base64.b64decode(data[key]).decode("utf-8", "replace")):
            yield invalid(f"data[{key}]", _REDACTED, problem)


def _json_problem(text: str) -> str:
    """What Go's decoder says of text that is not JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()):
            return "unexpected end of JSON input"
        return f"invalid character '{text[error.pos]}' looking for beginning of value"
    return ""
