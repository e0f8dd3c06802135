"""The controllers' own rules about runs of agents, providers and tools, applied to what stands in a file."""

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from jangar.api.agents.agentrun import AGENT_RUN, AgentRunSpec
from jangar.api.agents.provider import AGENT_PROVIDER, AgentProviderSpec
from jangar.api.kind import Kind
from jangar.api.meta import JsonObject, NameRef
from jangar.api.tools import TOOL, ToolSpec
from jangar.domain.agentrun.provider import provider_problems
from jangar.domain.agentrun.workflow import define_runtime_steps
from jangar.domain.not_built import not_built_problems
from jangar.domain.toolrun import tool_problems
from jangar.lint.conditions import compile_loop
from jangar.lint.definitions import ReadDefinition
from jangar.lint.finding import Diagnostic, Severity
from jangar.lint.lenient_parse import read_spec
from jangar.lint.source_positions import Path

_SPEC: Final = ("spec",)
_SOMEBODY: Final = NameRef(name="somebody")
_TEXTS: Final = ("name", "text", "path", "content", "binary", "from", "to", "value", "mountPath")
_BLANKS: Final[Mapping[str, Any]] = {
    **dict.fromkeys(_TEXTS, ""),
    "agentRef": {"name": "somebody"},
    "inline": {"text": ""},
    "maxIterations": 1,
    "steps": [],
}
"""What stands for a field that is needed and cannot be read."""


def kind_complaints(kind: Kind, spec: Any) -> Iterator[Diagnostic]:
    """What the controller of this kind would refuse, whatever else there is."""
    yield from map(Diagnostic.of, not_built_problems(kind.name, spec if isinstance(spec, Mapping) else {}))
    check = _CHECKS.get(kind.name)
    if check is not None:
        yield from check(spec)


def agent_step_complaints(read: ReadDefinition, *, under: Path) -> Iterator[Diagnostic]:
    """Workflows that steps of an orchestration hand to their agents. It can be run; the step will fail."""
    for index, step in enumerate(read.spec.steps if read.spec else ()):
        place: Path = ("steps", index)
        if step.runtime is None or read.covers((*place, "workflow")) or read.covers((*place, "runtime")):
            continue
        given = AgentRunSpec(
            agent_ref=_SOMEBODY, runtime=step.runtime, workflow=step.workflow, workload=step.workload
        )
        found = define_runtime_steps(given, compile_condition=compile_loop)
        for problem in found if isinstance(found, list) else ():
            complaint = Diagnostic.of(problem, at=(*under, *place, *problem.path[1:]))
            yield replace(complaint, step=step.name, severity=Severity.WARNING)


def _run(spec: Any) -> Iterator[Diagnostic]:
    read = read_spec(AgentRunSpec, spec, _mend)
    if read.spec is not None:
        found = define_runtime_steps(read.spec, compile_condition=compile_loop)
        yield from read.complaints(found if isinstance(found, list) else (), under=_SPEC)


def _provider(spec: Any) -> Iterator[Diagnostic]:
    read = read_spec(AgentProviderSpec, spec, _mend)
    if read.spec is not None:
        yield from read.complaints(provider_problems(read.spec), under=_SPEC)


def _tool(spec: Any) -> Iterator[Diagnostic]:
    read = read_spec(ToolSpec, spec, _mend)
    if read.spec is not None:
        yield from read.complaints(tool_problems(read.spec), under=_SPEC)


_CHECKS: Final[Mapping[str, Callable[[Any], Iterator[Diagnostic]]]] = {
    AGENT_RUN.name: _run,
    AGENT_PROVIDER.name: _provider,
    TOOL.name: _tool,
}


def _mend(holder: Any, path: Path, spec: JsonObject) -> bool:
    """Blank where a value is needed, absent where it is not; what cannot be blank goes with what holds it."""
    if path[:1] == ("runtime",) and path in {("runtime",), ("runtime", "type")}:
        # Explicit steps win.
        spec["runtime"] = {"type": "workflow" if spec.get("workflow") else "job"}
        return True
    match holder, path[-1:]:
        case list(), (int(index),) if index < len(holder):
            holder[index] = {"name": ""} if path[-2:-1] == ("steps",) else ""
        case dict(), ("name",) if any(str(item).endswith("Ref") for item in path[-2:-1]):
            holder["name"] = _SOMEBODY.name
        case dict(), (str(key),) if key in _BLANKS:
            holder[key] = copy.copy(_BLANKS[key])
        case dict(), (str(key),) if key in holder:
            del holder[key]
        case dict(), _:
            holder.clear()
        case _:
            return False
    return True
