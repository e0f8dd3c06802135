"""Objects of every kind as a hostile tenant would write them: valid by schema, adversarial in content. Seeded.

Generated from the schemas of the kinds, so a new field is attacked without a change here.
"""

import json
import random
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from typing import Any

from jangar.api.kind import VERSION, Kind
from jangar.api.kinds import KINDS
from jangar.crdgen.crd import root_schema

JsonObject = dict[str, Any]

MAX_SIZE = 1_200_000
"""Bytes of one object; the API server accepts 1.5 MB."""
REFERENCES = {
    "agentRef": "agent",
    "implementationSpecRef": "implementationspec",
    "memoryRef": "memory",
    "orchestrationRef": "orchestration",
    "providerRef": "agentprovider",
    "signalRef": "signal",
    "toolRef": "tool",
    "vcsRef": "versioncontrolprovider",
}
PUMPS = (
    *(
        "a",
        "a?",
        "(a|b)*",
        "{{",
        "}}",
        "{{ parameters.p }}",
        "{{ steps.a.outputs.o }}",
        "{%",
        "{#",
        "/",
        "a/b#1",
        "\\",
    ),
    *(
        "'",
        '"',
        "[",
        "(",
        "..",
        "-",
        " ",
        "\t",
        "$(",
        "$$",
        "é",
        "\U0001d54f",
        "\u202e",
        "\ufeff",
        "a.b.",
        "0",
        "1e9",
        "%s",
    ),
    *(
        "true||",
        "!",
        "x.y",
        "`",
        "${{",
        "\n",
        "---\n",
        "a: b\n",
        "&a *a ",
        "<",
        "&amp;",
        "\x7f",
        "a,",
        "*",
        "?",
    ),
)
EXPRESSIONS = (
    "parameters.p.find('{pump}') == 'x'",
    "parameters.p.matches('((a?){{30}}){{30}}(a{{30}}){{30}}c')",
    "parameters.p.split('').all(i, parameters.p.split('').indexOf(i) >= 0)",
    "lists.range(10000).map(i, string(i)).join(',').size() > 1",
    "parameters.p.findAll('').size() == 1",
    "parameters.p.replace('a', parameters.p).size() == 1",
    "'%s%s%s'.format([parameters.p, parameters.p, parameters.p]) == ''",
    "[1,2,3].exists(a, [1,2,3].exists(b, [1,2,3].exists(c, a + b + c == 100)))",
    "size(parameters) > 0 && steps.a.outputs.o == 'x'",
    "parameters.p == parameters.p && {bangs}true",
)


def pairs() -> Iterator[tuple[Kind, ...]]:
    """Every kind alone, then every two kinds together."""
    yield from ((kind,) for kind in KINDS)
    yield from combinations(KINDS, 2)


def hostile_object(rng: random.Random, kind: Kind, name: str, known: dict[str, str]) -> JsonObject:
    """An object of the kind; `known` are names that its references resolve to, by kind."""
    spec = _value(rng, _spec_schema(kind.name), "spec", known)
    crafted = _CRAFTED.get(kind.name)
    if crafted and rng.random() < 0.5:
        spec |= crafted(rng, known)
    for _ in range(rng.choice((1, 1, 2, 4))):
        # Repeated items share one object here; each is attacked separately.
        spec = json.loads(written) if len(written := json.dumps(spec)) < MAX_SIZE else spec
        if len(written) < MAX_SIZE // 4:
            _attack(rng, spec)
    made = {
        "apiVersion": f"{kind.group}/{VERSION}",
        "kind": kind.name,
        "metadata": {"name": name, "labels": {"hostile": "yes"}},
        "spec": spec,
    }
    if rng.random() < 0.05:
        made["metadata"]["annotations"] = {f"a{n}": _text(rng, 2_000) for n in range(rng.choice((1, 50)))}
    while len(json.dumps(made)) > MAX_SIZE:
        largest = max(made["spec"], key=lambda field: len(json.dumps(made["spec"][field])))
        del made["spec"][largest]
    return made


@cache
def _spec_schema(kind: str) -> JsonObject:
    schema: JsonObject = next(root_schema(item) for item in KINDS if item.name == kind)["properties"]["spec"]
    return schema


def _value(rng: random.Random, node: JsonObject, field: str, known: dict[str, str]) -> Any:
    if "enum" in node:
        return rng.choice(node["enum"])
    if "x-kubernetes-int-or-string" in node:
        return rng.choice(("100m", 1, "1Gi"))
    match node.get("type"):
        case "string":
            return _plain(rng, node, field)
        case "integer" | "number":
            low = int(node.get("minimum", 0)) + bool(node.get("exclusiveMinimum"))
            return rng.randint(low, min(int(node.get("maximum", low + 5)), low + 5))
        case "boolean":
            return rng.random() < 0.5
        case "array":
            count = max(node.get("minItems", 0), rng.choice((1, 1, 2)))
            return [_value(rng, node["items"], field, known) for _ in range(count)]
    if "additionalProperties" in node:
        return {f"k{n}": _value(rng, node["additionalProperties"], field, known) for n in range(2)}
    wanted = set(node.get("required", ()))
    if field in REFERENCES and REFERENCES[field] in known:
        return {"name": known[REFERENCES[field]]}
    return {
        name: _value(rng, inner, name, known)
        for name, inner in node.get("properties", {}).items()
        if name in wanted or rng.random() < 0.2
    }


def _plain(rng: random.Random, node: JsonObject, field: str) -> str:
    if node.get("format") == "date-time":
        return "2026-01-01T00:00:00Z"
    text = {"kind": "ToolRun", "when": "true", "image": "i", "cron": "0 0 1 1 *", "timezone": "UTC"}.get(
        field, f"n{rng.randrange(9)}"
    )
    return text[: node.get("maxLength", 99)].ljust(node.get("minLength", 0), "x")


def _text(rng: random.Random, most: int) -> str:
    size = int(most ** rng.uniform(0.3, 1.0))
    pump = rng.choice(PUMPS)
    return (rng.choice(("", "a", "{{", "^")) + pump * (size // len(pump) + 1))[:size] + rng.choice(("", "!"))


def _attack(rng: random.Random, spec: JsonObject) -> None:
    """Inflate one field of the spec."""
    parents = list(_parents(spec))
    if not parents:
        return
    holder, key = rng.choice(parents)
    value = holder[key]
    match value:
        case str():
            holder[key] = _text(rng, rng.choice((60, 250, 4_000, 250_000)))
        case list() if value:
            room = MAX_SIZE // (1 + len(json.dumps(spec)))
            holder[key] = value * min(room, rng.choice((10, 100, 999)))
        case dict():
            room = MAX_SIZE // (1 + len(json.dumps(spec)))
            each = next(iter(value.values()), "x")
            big = {f"k{n}": each for n in range(min(room, rng.choice((50, 999))))}
            holder[key] = value | big if rng.random() < 0.5 else _deep(rng)
        case _:
            holder[key] = rng.choice((2**31 - 1, -1, 0, 2**63))


def _deep(rng: random.Random) -> Any:
    made: Any = "x"
    for _ in range(rng.choice((5, 50, 400))):
        made = {"d": made} if rng.random() < 0.5 else [made]
    return {"deep": made}


def _parents(value: Any) -> Iterator[tuple[Any, Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield value, key
        yield from _parents(item)


def _expression(rng: random.Random) -> str:
    written = rng.choice(EXPRESSIONS)
    return (
        written.replace("{pump}", "a?" * 200 + "a" * 200)
        .replace("{bangs}", "!!" * 1_900)
        .replace("{{", "{")
        .replace("}}", "}")[:4_096]
    )


def _steps(rng: random.Random, known: dict[str, str]) -> list[JsonObject]:
    count = rng.choice((1, 3, 30, 300, 300, 3_000))
    small = count > 30
    steps: list[JsonObject] = []
    for n in range(count):
        step: JsonObject = {
            "name": f"s{n}",
            "kind": rng.choice(("ToolRun", "Checkpoint", "SubOrchestration")),
        }
        if rng.random() < 0.5:
            step["when"] = f"parameters.p != '{n}'" if small else _expression(rng)
        if rng.random() < 0.5 and n:
            step["dependsOn"] = [f"s{other}" for other in range(max(0, n - rng.choice((1, 3, 20))), n)]
        if rng.random() < 0.5:
            step["with"] = {"a": "{{ parameters.p }}" * (1 if small else rng.choice((1, 5_000)))}
        step["toolRef"] = {"name": known.get("tool", "t")}
        step["orchestrationRef"] = {"name": known.get("orchestration", "o")}
        steps.append(step)
    return steps


def _orchestration(rng: random.Random, known: dict[str, str]) -> JsonObject:
    return {"steps": _steps(rng, known), "policies": {"maxParallel": 1}}


def _run(rng: random.Random, known: dict[str, str]) -> JsonObject:
    parameters = {"p": rng.choice(("a", "," * 1_000, "a" * 60_000, "x" * 200_000))}
    if "orchestration" in known and rng.random() < 0.6:
        return {
            "orchestrationRef": {"name": known["orchestration"]},
            "orchestration": None,
            "parameters": parameters,
        }
    return {
        "orchestration": _orchestration(rng, known),
        "orchestrationRef": None,
        "parameters": parameters,
    }


def _tool(rng: random.Random, _: dict[str, str]) -> JsonObject:
    return {"image": "i", "command": ["true"], "args": ["{{ parameters.p }}" * rng.choice((1, 5_000))]}


def _toolrun(rng: random.Random, known: dict[str, str]) -> JsonObject:
    return {
        "toolRef": {"name": known.get("tool", "t")},
        "parameters": {"p": rng.choice(("a", "x" * 200_000))},
    }


def _provider(rng: random.Random, _: dict[str, str]) -> JsonObject:
    templates = (
        "{{" * 30_000,
        "{{ parameters.p }}" * 90,
        "{% if a %}" * 100,
        "{{ " + "a(" * 900 + "}}",
        "{#" * 9_000,
    )
    return {"binary": "true", "argsTemplate": [rng.choice(templates)]}


def _task(rng: random.Random, _: dict[str, str]) -> JsonObject:
    external = rng.choice(("/" * 4_000, "a/" * 2_000, "a/b#1"))
    return {"text": "{{ parameters.p }}" * 7_000, "source": {"provider": "github", "externalId": external}}


def _agentrun(rng: random.Random, known: dict[str, str]) -> JsonObject:
    return {
        "agentRef": {"name": known.get("agent", "a")},
        "implementation": {"inline": _task(rng, known)},
        "implementationSpecRef": None,
        "runtime": {"type": "job"},
        "parameters": {"p": "x" * rng.choice((1, 2_048))},
    }


_CRAFTED = {
    "Orchestration": _orchestration,
    "OrchestrationRun": _run,
    "Tool": _tool,
    "ToolRun": _toolrun,
    "AgentProvider": _provider,
    "ImplementationSpec": _task,
    "AgentRun": _agentrun,
}
