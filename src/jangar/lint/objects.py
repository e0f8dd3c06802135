"""Checks one object: metadata, schema, definition, and the rules of its controller."""

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from jangar.api.agents.agentrun import AGENT_RUN, AgentRunSpec
from jangar.api.agents.provider import AGENT_PROVIDER, AgentProviderSpec
from jangar.api.kind import Kind
from jangar.api.meta import JsonObject, NameRef
from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN
from jangar.api.tools import TOOL, ToolSpec
from jangar.domain.agentrun.provider import provider_problems
from jangar.domain.agentrun.workflow import define_runtime_steps
from jangar.domain.not_built import not_built_problems
from jangar.domain.toolrun import tool_problems
from jangar.lint.conditions import compile_loop
from jangar.lint.finding import Diagnostic, Severity
from jangar.lint.lenient_parse import ReadDefinition, definition_diagnostics, read_definition, read_spec
from jangar.lint.manifests import Manifest
from jangar.lint.metadata import metadata_diagnostics
from jangar.lint.schemas import admitted_object
from jangar.lint.source_positions import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedObject:
    """An object, its problems, and its definition, if it has one."""

    manifest: Manifest
    diagnostics: tuple[Diagnostic, ...]
    definition: ReadDefinition | None = None
    definition_path: Path = ("spec",)


def check_object(manifest: Manifest) -> CheckedObject:
    """The object with all problems. Problems that only repeat a flaw of the text are left out."""
    admitted, of_schema = admitted_object(manifest.kind, manifest.value)
    path = _definition_path(manifest)
    definition = None if path is None else read_definition(_at(admitted, path))
    of_graph: list[Diagnostic] = []
    if definition is not None and path is not None:
        of_graph += definition_diagnostics(definition, under=path)
        of_graph += agent_step_diagnostics(definition, under=path)
    of_kind = kind_diagnostics(manifest.kind, _at(admitted, ("spec",)))
    better = [*metadata_diagnostics(manifest.value), *of_graph, *of_kind]
    diagnostics = [*better, *_without_reported(better, of_schema)]
    flawed = manifest.flawed_paths
    return CheckedObject(
        manifest=manifest,
        diagnostics=tuple(diagnostic for diagnostic in diagnostics if not _is_echo(diagnostic.path, flawed)),
        definition=definition,
        definition_path=path or ("spec",),
    )


def _definition_path(manifest: Manifest) -> Path | None:
    if manifest.kind is ORCHESTRATION:
        return ("spec",)
    if manifest.kind is ORCHESTRATION_RUN and manifest.spec.get("orchestration") is not None:
        return ("spec", "orchestration")
    return None


def _at(value: Any, path: Path) -> Any:
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _without_reported(better: list[Diagnostic], others: list[Diagnostic]) -> Iterator[Diagnostic]:
    """Those of `others` whose field has no problem in `better`, which is more specific."""
    reported = {item.path for item in better} | {
        item.path[:-1] for item in better if item.path[-1:] == ("name",)
    }
    return (other for other in others if other.path not in reported)


def _is_echo(path: Path, flawed: frozenset[Path]) -> bool:
    return any(path[:length] in flawed for length in range(1, len(path) + 1)) if flawed else False


_SPEC: Final = ("spec",)
_PLACEHOLDER_AGENT: Final = NameRef(name="placeholder")
_TEXTS: Final = ("name", "text", "path", "content", "binary", "from", "to", "value", "mountPath")
_BLANKS: Final[Mapping[str, Any]] = {
    **dict.fromkeys(_TEXTS, ""),
    "agentRef": {"name": "placeholder"},
    "inline": {"text": ""},
    "maxIterations": 1,
    "steps": [],
}
"""Replacements of required fields that cannot be read."""


def kind_diagnostics(kind: Kind, spec: Any) -> Iterator[Diagnostic]:
    """Problems that the controller of this kind would report."""
    yield from map(Diagnostic.of, not_built_problems(kind.name, spec if isinstance(spec, Mapping) else {}))
    check = _CHECKS.get(kind.name)
    if check is not None:
        yield from check(spec)


def agent_step_diagnostics(read: ReadDefinition, *, under: Path) -> Iterator[Diagnostic]:
    """Warnings about workflows in steps: the orchestration can run, but the step will fail."""
    for index, step in enumerate(read.spec.steps if read.spec else ()):
        place: Path = ("steps", index)
        if step.runtime is None or read.covers((*place, "workflow")) or read.covers((*place, "runtime")):
            continue
        given = AgentRunSpec(
            agent_ref=_PLACEHOLDER_AGENT, runtime=step.runtime, workflow=step.workflow, workload=step.workload
        )
        found = define_runtime_steps(given, compile_condition=compile_loop)
        for problem in found if isinstance(found, list) else ():
            diagnostic = Diagnostic.of(problem, at=(*under, *place, *problem.path[1:]))
            yield replace(diagnostic, step=step.name, severity=Severity.WARNING)


def _run(spec: Any) -> Iterator[Diagnostic]:
    read = read_spec(AgentRunSpec, spec, _repair)
    if read.spec is not None:
        found = define_runtime_steps(read.spec, compile_condition=compile_loop)
        yield from read.diagnostics(found if isinstance(found, list) else (), under=_SPEC)


def _provider(spec: Any) -> Iterator[Diagnostic]:
    read = read_spec(AgentProviderSpec, spec, _repair)
    if read.spec is not None:
        yield from read.diagnostics(provider_problems(read.spec), under=_SPEC)


def _tool(spec: Any) -> Iterator[Diagnostic]:
    read = read_spec(ToolSpec, spec, _repair)
    if read.spec is not None:
        yield from read.diagnostics(tool_problems(read.spec), under=_SPEC)


_CHECKS: Final[Mapping[str, Callable[[Any], Iterator[Diagnostic]]]] = {
    AGENT_RUN.name: _run,
    AGENT_PROVIDER.name: _provider,
    TOOL.name: _tool,
}


def _repair(holder: Any, path: Path, spec: JsonObject) -> bool:
    """Replace a required value with a blank one, and remove an optional one or its holder."""
    if path[:1] == ("runtime",) and path in {("runtime",), ("runtime", "type")}:
        # Explicit steps win.
        spec["runtime"] = {"type": "workflow" if spec.get("workflow") else "job"}
        return True
    match holder, path[-1:]:
        case list(), (int(index),) if index < len(holder):
            holder[index] = {"name": ""} if path[-2:-1] == ("steps",) else ""
        case dict(), ("name",) if any(str(item).endswith("Ref") for item in path[-2:-1]):
            holder["name"] = _PLACEHOLDER_AGENT.name
        case dict(), (str(key),) if key in _BLANKS:
            holder[key] = copy.copy(_BLANKS[key])
        case dict(), (str(key),) if key in holder:
            del holder[key]
        case dict(), _:
            holder.clear()
        case _:
            return False
    return True
