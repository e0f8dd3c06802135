"""ConfigMaps and Secrets: keys that become file names, a limit on size, and data that can be sealed."""

import base64
import json
from typing import Any, Final

from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import config_key_problems, forbidden, immutable, invalid, required
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.printing import created
from picokube.schema import FieldError
from picokube.schema.errors import too_long

MAX_COUNT: Final = 1024 * 1024
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

    def problems(self, obj: Json) -> list[FieldError]:
        text, binary = obj.get("data") or {}, obj.get("binaryData") or {}
        problems: list[FieldError] = []
        for key in text:
            problems += [
                invalid(f"data[{key}]", key, config_key_problem)
                for config_key_problem in config_key_problems(key)
            ]
            if key in binary:
                problems.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
        for key in binary:
            problems += [
                invalid(f"binaryData[{key}]", key, config_key_problem)
                for config_key_problem in config_key_problems(key)
            ]
        size = sum(len(item.encode()) for item in text.values()) + sum(
            _size(item) for item in binary.values()
        )
        return [*problems, too_long("[]", MAX_COUNT)] if size > MAX_COUNT else problems

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        return [*_immutable_problems(obj, old, ("data", "binaryData")), *self.problems(obj)]

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), created(obj)]


class Secret(Kind):
    """A secret."""

    def default(self, obj: JsonObject) -> None:
        if not obj.get("type"):
            obj["type"] = "Opaque"
        plain = obj.pop("stringData", None)
        if plain:
            coded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
            obj["data"] = (obj.get("data") or {}) | coded

    def reset_update(self, obj: JsonObject, old: Json, subresource: str) -> None:
        del subresource
        if obj.get("type") == "Opaque" and not old.get("type"):
            self._put_back(obj, old, "type")

    def problems(self, obj: Json) -> list[FieldError]:
        data = obj.get("data") or {}
        problems = [
            invalid(f"data[{key}]", key, config_key_problem)
            for key in sorted(data)
            for config_key_problem in config_key_problems(key)
        ]
        if sum(_size(item) for item in data.values()) > MAX_COUNT:
            problems.append(too_long("data", MAX_COUNT))
        return [*problems, *_type_problems(obj, data)]

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        return [
            *immutable("type", obj.get("type"), old.get("type")),
            *_immutable_problems(obj, old, ("data",)),
            *self.problems(obj),
        ]

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        if obj.get("type") == "kubernetes.io/tls" and (old is None or old.get("data") != obj.get("data")):
            coded = (obj.get("data") or {}).get("tls.crt", "")
            if b"-----BEGIN" not in base64.b64decode(coded):
                return ["tls: failed to find any PEM data in certificate input"]
        return []

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [obj.get("type", ""), len(obj.get("data") or ()), created(obj)]


def _size(coded: str | None) -> int:
    """Bytes that a base64 text stands for."""
    return len(coded) * 3 // 4 - coded[-2:].count("=") if coded else 0


def _immutable_problems(obj: Json, old: Json, names: tuple[str, ...]) -> list[FieldError]:
    if not old.get("immutable"):
        return []
    problems = [] if obj.get("immutable") else [forbidden("immutable", _IMMUTABLE)]
    return problems + [
        forbidden(name, _IMMUTABLE) for name in names if (obj.get(name) or {}) != (old.get(name) or {})
    ]


def _type_problems(obj: Json, data: Json) -> list[FieldError]:
    kind = obj.get("type", "")
    if kind in _REQUIRED_KEYS:
        return [required(f"data[{key}]") for key in _REQUIRED_KEYS[kind] if key not in data]
    if kind == "kubernetes.io/basic-auth" and "username" not in data and "password" not in data:
        return [required("data[username]"), required("data[password]")]
    if kind == "kubernetes.io/service-account-token":
        named = (obj["metadata"].get("annotations") or {}).get(_ACCOUNT)
        return [] if named else [required(f"metadata.annotations[{_ACCOUNT}]")]
    if kind in _DOCKER_KEYS:
        return _docker_problems(_DOCKER_KEYS[kind], data)
    return []


def _docker_problems(key: str, data: Json) -> list[FieldError]:
    if key not in data:
        return [required(f"data[{key}]")]
    text = base64.b64decode(data[key]).decode("utf-8", "replace")
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return [invalid(f"data[{key}]", _REDACTED, _json_problem(text, error.pos))]
    return []


def _json_problem(text: str, at: int) -> str:
    """What Go says of text that is no JSON."""
    if at >= len(text.rstrip()):
        return "unexpected end of JSON input"
    return f"invalid character '{text[at]}' looking for beginning of value"
