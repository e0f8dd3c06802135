"""What kube-apiserver 1.35 said about schemas and objects, recorded with golden/recorder."""

import json
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "golden"


def recorded(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


def placed(schema: dict[str, Any], where: list[str], rules: list[dict[str, Any]]) -> dict[str, Any]:
    """A copy of the schema with rules at one place in it."""
    copy = json.loads(json.dumps(schema))
    node = copy
    for step in where:
        node = node[step]
    node["x-kubernetes-validations"] = rules
    return copy
