"""Random sequences of writes by several managers to one object, and their outcomes.

A sequence is plain JSON: a kind and a list of writes. Each write has one outcome: status, error, value and field
owners. Two servers agree if their outcomes are equal.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from contract.kubernetes_api.objects import ACCOUNTS, CONFIG_MAPS, SERVICES, WIDGETS
from contract.kubernetes_api.session import APPLY, JSON, JSON_PATCH, MERGE, Session
from contract.kubernetes_api.transcript import order_causes
from support.api_servers import ApiServer

MANAGERS = ("one", "two", "three")
VERBS = ("apply", "apply", "apply", "force", "force", "update", "merge", "json", "status", "merge-status")
TARGETS = {"Widget": WIDGETS, "ConfigMap": CONFIG_MAPS, "Service": SERVICES, "ServiceAccount": ACCOUNTS}
WEIGHTS = ("Widget",) * 5 + ("ConfigMap", "Service", "ServiceAccount")
TYPES = {"Widget": "conformance.example.com/v1", "ConfigMap": "v1", "Service": "v1", "ServiceAccount": "v1"}
LETTERS = ("a", "b", "c", "d")
MAX_LENGTH = 9
SHARE_WITH_NULLS = 0.1
"""The share of applied and replaced objects that contain nulls."""
RECORDED = Path(__file__).with_name("ssa_recorded.json")
"""Sequences with the outcomes of a real server."""

PATHS = {
    "Widget": "/spec/title /spec/color /spec/nested /spec/nested/one /spec/labels/a /spec/labels /spec/tags/0"
    " /spec/tags /spec/ports /spec/ports/0 /spec/notes/0 /spec/limits /spec/size /metadata/labels",
    "ConfigMap": "/data/a /data/b /data /metadata/labels /metadata/labels/a",
    "Service": "/spec/ports/0 /spec/selector/b /metadata/labels",
    "ServiceAccount": "/imagePullSecrets/0 /secrets /automountServiceAccountToken /metadata/labels",
}
"""Paths that JSON patches change."""

Sequence = dict[str, Any]


def a_sequence(seed: int) -> Sequence:
    """The same seed produces the same sequence on every machine."""
    random = Random(seed)  # noqa: S311 - rng for a test, not for a secret
    kind = random.choice(WEIGHTS)
    writes = [{"verb": "apply", "manager": random.choice(MANAGERS), "body": _object(random, kind)}]
    writes += [_write(random, kind) for _ in range(random.randint(3, MAX_LENGTH))]
    return {"seed": seed, "kind": kind, "writes": writes}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of one write, without values that always differ."""

    status: int
    message: str | None
    changed: bool
    value: Any
    owners: Any


def as_json(outcome: Outcome) -> dict[str, Any]:
    return json.loads(json.dumps(asdict(outcome)))


def play(sequence: Sequence, server: ApiServer) -> list[Outcome]:
    """Run every write of the sequence on a new object."""
    session = Session(server)
    path = f"{TARGETS[sequence['kind']]}/a"
    outcomes: list[Outcome] = []
    version = None
    try:
        session.begin()
        for write in sequence["writes"]:
            outcome, version = _played(session, path, sequence["kind"], write, version)
            outcomes.append(outcome)
    finally:
        session.close()
    return outcomes


def smallest(sequence: Sequence, disagrees: Any) -> Sequence:
    """The sequence reduced to the writes that reproduce the difference."""
    writes = list(sequence["writes"])
    n = len(writes) - 1
    while n >= 0 and len(writes) > 1:
        shorter = {**sequence, "writes": writes[:n] + writes[n + 1 :]}
        if disagrees(shorter):
            writes = shorter["writes"]
        n -= 1
    return {**sequence, "writes": writes}


# -- running ----------------------------------------------------------------------------------------------------


def _played(
    s: Session, path: str, kind: str, write: dict[str, Any], before: str | None
) -> tuple[Outcome, str | None]:
    manager, body = write["manager"], write["body"]
    query = f"?fieldManager={manager}"
    match write["verb"]:
        case "apply":
            answer = s.patch(path + query, body, APPLY)
        case "force":
            answer = s.patch(f"{path}{query}&force=true", body, APPLY)
        case "status":
            answer = s.patch(f"{path}/status{query}&force=true", body, APPLY)
        case "merge-status":
            answer = s.patch(f"{path}/status{query}", body, MERGE)
        case "merge":
            answer = s.patch(path + query, body, MERGE)
        case "json":
            answer = s.patch(path + query, body, JSON_PATCH)
        case _:
            stored = s.get(path).body
            answer = s.put(path + query, _replaced(stored, body, kind), media=JSON)
    reported = answer.body
    if not answer.is_success:
        if isinstance(reported, dict) and isinstance(reported.get("details"), dict):
            order_causes(reported)
        message = (
            s.steps and reported["message"].replace(s.ns, "{ns}")
            if isinstance(reported, dict)
            else str(reported)
        )
        return Outcome(status=answer.status, message=message, changed=False, value=None, owners=None), before
    version = reported["metadata"]["resourceVersion"]
    return (
        Outcome(
            status=answer.status,
            message=None,
            changed=version != before,
            value=_value(reported, s.ns),
            owners=_owners(reported),
        ),
        version,
    )


def _replaced(stored: dict[str, Any], body: dict[str, Any], kind: str) -> dict[str, Any]:
    """The stored object with the content of another, as a controller sends it with PUT."""
    if stored.get("kind") != kind:
        return body
    metadata = {**stored["metadata"], "labels": body["metadata"].get("labels", {})}
    content = {name: value for name, value in body.items() if name != "metadata"}
    kept = {"status": stored["status"]} if "status" in stored else {}
    if kind == "Service":
        content["spec"] = {**stored["spec"], **content["spec"]}
    return {**kept, **content, "metadata": metadata}


def _value(obj: dict[str, Any], namespace: str) -> Any:
    volatile = ("uid", "resourceVersion", "creationTimestamp", "managedFields")
    metadata = {name: value for name, value in obj["metadata"].items() if name not in volatile}
    return json.loads(json.dumps({**obj, "metadata": metadata}).replace(namespace, "{ns}"))


def _owners(obj: dict[str, Any]) -> Any:
    entries = [
        {name: value for name, value in entry.items() if name != "time"}
        for entry in obj["metadata"].get("managedFields", [])
    ]
    return sorted(entries, key=lambda entry: json.dumps(entry, sort_keys=True))


# -- generating -------------------------------------------------------------------------------------------------


def _write(random: Random, kind: str) -> dict[str, Any]:
    verb = random.choice(VERBS)
    if verb in ("status", "merge-status") and kind != "Widget":
        verb = "force"
    manager = random.choice(MANAGERS)
    match verb:
        case "json":
            body: Any = [_operation(random, kind) for _ in range(random.randint(1, 2))]
        case "merge":
            body = _patch(random, kind)
        case "status":
            body = {**_head(kind), "status": _status(random)}
        case "merge-status":
            body = {"status": random.choice((_status(random), _status(random), None))}
        case _:
            body = _object(random, kind)
            if random.random() < SHARE_WITH_NULLS:
                body = _named(_with_nulls(random, body, depth=0))
    return {"verb": verb, "manager": manager, "body": body}


def _head(kind: str) -> dict[str, Any]:
    return {"apiVersion": TYPES[kind], "kind": kind, "metadata": {"name": "a"}}


def _object(random: Random, kind: str) -> dict[str, Any]:
    body = _head(kind)
    if random.random() < 0.4:
        body["metadata"]["labels"] = _some(random, {letter: _word(random) for letter in LETTERS})
    if random.random() < 0.2:
        body["metadata"]["annotations"] = _some(random, {letter: _word(random) for letter in LETTERS})
    return {**body, **_content(random, kind)}


def _content(random: Random, kind: str) -> dict[str, Any]:
    match kind:
        case "ConfigMap":
            return _some(random, {"data": _words(random), "binaryData": {"z": "eA=="}})
        case "Service":
            ports = [
                {"name": letter, "port": n + 1, "targetPort": random.choice((1, 2, "web"))}
                for n, letter in enumerate(LETTERS)
            ]
            spec = {"clusterIP": "None", "selector": {"a": "x", **_words(random)}}
            spec["ports"] = _shuffled(random, ports)[: random.randint(1, 3)]
            return {"spec": spec}
        case "ServiceAccount":
            named = [{"name": letter} for letter in LETTERS]
            return _some(
                random,
                {
                    "imagePullSecrets": _part(random, named),
                    "secrets": _part(random, named),
                    "automountServiceAccountToken": random.choice((True, False)),
                },
            )
        case _:
            return {"spec": _spec(random)} if random.random() < 0.95 else {}


def _spec(random: Random) -> dict[str, Any]:
    ports = [_port(random, letter) for letter in LETTERS]
    return _some(
        random,
        {
            "color": random.choice(("red", "green", "blue")),
            "title": _word(random),
            "size": random.randint(0, 3),
            "enabled": random.choice((True, False)),
            "tags": _part(random, list(LETTERS)),
            "ports": _part(random, ports),
            "notes": _part(random, list(LETTERS)),
            "labels": _words(random),
            "limits": _words(random),
            "nested": _some(
                random,
                {
                    "one": _word(random),
                    "two": _word(random),
                    "deep": _some(random, {"three": _word(random), "items": _part(random, list(LETTERS))}),
                },
            ),
            "frozen": _some(random, {"one": _word(random), "two": _word(random)}),
            "anything": _some(
                random, {"x": _word(random), "y": {"z": [1, {"a": _word(random)}]}, "w": _words(random)}
            ),
        },
    )


def _port(random: Random, name: str) -> dict[str, Any]:
    rest = {
        "number": random.randint(1, 3),
        "protocol": random.choice(("TCP", "UDP")),
        "hosts": _part(random, list(LETTERS)),
    }
    return {"name": name, **_some(random, rest)}


def _status(random: Random) -> dict[str, Any]:
    conditions = [{"type": letter, "status": random.choice(("True", "False"))} for letter in LETTERS]
    return _some(random, {"phase": _word(random), "conditions": _part(random, conditions)})


def _patch(random: Random, kind: str) -> dict[str, Any]:
    """A merge patch: some fields of an object, some of them null."""
    body = {
        name: value for name, value in _object(random, kind).items() if name not in ("apiVersion", "kind")
    }
    body["metadata"].pop("name")
    return _with_nulls(random, body, depth=0)


def _named(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "metadata": {**body["metadata"], "name": "a"}}


def _with_nulls(random: Random, value: Any, *, depth: int) -> Any:
    if isinstance(value, dict) and (depth <= 1 or random.random() > 0.1):
        return {name: _with_nulls(random, item, depth=depth + 1) for name, item in value.items()}
    return None if depth > 1 and random.random() < 0.25 else value


def _operation(random: Random, kind: str) -> dict[str, Any]:
    path = random.choice(PATHS[kind].split())
    if random.random() < 0.4:
        return {"op": "remove", "path": path}
    return {"op": random.choice(("add", "replace")), "path": path, "value": _at(random, path)}


def _at(random: Random, path: str) -> Any:
    match path.split("/")[1:]:
        case ["spec", "color"]:
            return random.choice(("red", "green", "blue"))
        case ["spec", "size"]:
            return random.randint(0, 3)
        case ["spec", "nested"]:
            return {"one": _word(random)}
        case ["automountServiceAccountToken"]:
            return random.choice((True, False))
        case ["spec", "tags"]:
            return _part(random, list(LETTERS))
        case ["spec", "ports"]:
            return [_port(random, "b")]
        case ["spec", "ports", _]:
            return (
                {"name": random.choice(LETTERS), "port": random.randint(1, 9)}
                if random.random() < 0.5
                else {"name": "e", "port": 5}
            )
        case ["imagePullSecrets" | "secrets", *rest]:
            return {"name": random.choice(LETTERS)} if rest else [{"name": "a"}]
        case ["spec", "labels" | "limits"] | ["data"] | ["metadata", "labels"]:
            return _words(random)
        case _:
            return _word(random)


def _word(random: Random) -> str:
    return random.choice(("x", "y", "z"))


def _words(random: Random) -> dict[str, str]:
    return _some(random, {letter: _word(random) for letter in LETTERS})


def _some(random: Random, fields: dict[str, Any]) -> dict[str, Any]:
    share = random.choice((0.25, 0.5, 0.75))
    return {name: value for name, value in fields.items() if random.random() < share}


def _part(random: Random, items: list[Any]) -> list[Any]:
    return _shuffled(random, items)[: random.randint(0, 3)]


def _shuffled(random: Random, items: list[Any]) -> list[Any]:
    return random.sample(items, len(items))
