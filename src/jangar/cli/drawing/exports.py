"""Exports graphs as Mermaid, Graphviz and JSON. Every name is escaped; node identifiers are generated."""

import re
from collections.abc import Sequence
from typing import Any

from jangar.cli.drawing.dag import Dag


def mermaid(dags: Sequence[Dag]) -> list[str]:
    """One flowchart; several orchestrations are subgraphs of it."""
    lines = ["flowchart TD"]
    for number, dag in enumerate(dags):
        inner = _mermaid_graph(dag, f"o{number}_" if len(dags) > 1 else "")
        if len(dags) > 1:
            title = _mermaid_text(f"{dag.kind}/{dag.name}")
            inner = [f'subgraph o{number}["{title}"]', *(f"  {line}" for line in inner), "end"]
        lines.extend(f"  {line}" for line in inner)
    return lines


def _mermaid_graph(dag: Dag, prefix: str) -> list[str]:
    nodes = [f'{prefix}s{n}["{_mermaid_text(name)}"]' for n, name in enumerate(dag.graph.names)]
    edges = [f"{prefix}s{need} --> {prefix}s{n}" for n, needs in enumerate(dag.graph.needs) for need in needs]
    return nodes + edges


def _mermaid_text(text: str) -> str:
    """The text with Mermaid entity codes for characters that could end it or be read as markup."""
    return re.sub(r"[^A-Za-z0-9 _./-]", lambda match: f"#{ord(match[0])};", text)


def dot(dags: Sequence[Dag]) -> list[str]:
    """One digraph for each orchestration."""
    lines: list[str] = []
    for dag in dags:
        lines.append(f"digraph {_dot_text(f'{dag.kind}/{dag.name}')} {{")
        lines.append("  rankdir=TB;")
        lines.append("  node [shape=box];")
        lines.extend(f"  s{n} [label={_dot_text(name)}];" for n, name in enumerate(dag.graph.names))
        lines.extend(f"  s{need} -> s{n};" for n, needs in enumerate(dag.graph.needs) for need in needs)
        lines.append("}")
    return lines


def _dot_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def as_json(dags: Sequence[Dag]) -> dict[str, Any]:
    """The graphs as JSON values."""
    return {"graphs": [_json_graph(dag) for dag in dags]}


def _json_graph(dag: Dag) -> dict[str, Any]:
    names = dag.graph.names
    return {
        "kind": dag.kind,
        "name": dag.name,
        "executionMode": dag.mode.value,
        "steps": [
            {
                "name": name,
                "kind": dag.step_kinds[n],
                "level": dag.levels[n] + 1,
                "needs": [names[need] for need in dag.graph.needs[n]],
            }
            for n, name in enumerate(names)
        ],
        "levels": [[names[n] for n in row] for row in dag.by_level],
    }
