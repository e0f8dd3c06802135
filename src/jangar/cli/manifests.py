"""Reads manifests, reports their problems, and finds the run that they start."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import typer
from pydantic import ValidationError

from jangar.api.kind import VERSION
from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN, OrchestrationSpec
from jangar.cli.api_session import Failure
from jangar.cli.exit_codes import ExitCode
from jangar.cli.terminal import printable
from jangar.cli.wording import counted
from jangar.domain.orchestration.message_text import Guesses
from jangar.lint.documents import read_documents
from jangar.lint.files import CannotRead, SourceFile, read_sources
from jangar.lint.finding import Finding, Severity
from jangar.lint.report import Report, lint
from jangar.operations.submit import MAX_PREFIX, parameter_problems
from kubekit.client.api_client import Obj

MAX_NAMES: Final = 20
APPLIED_FIRST: Final = ("Namespace", "CustomResourceDefinition")
_COLORS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


def read_files(paths: Sequence[str]) -> tuple[list[SourceFile], list[CannotRead]]:
    """The readable and the unreadable files of these paths; `-` is standard input."""
    files = list(read_sources(paths, sys.stdin.buffer))
    unreadable = [item for item in files if isinstance(item, CannotRead)]
    return [item for item in files if isinstance(item, SourceFile)], unreadable


def read_objects(paths: Sequence[str], *, checked: bool) -> list[Mapping[str, Any]]:
    """All objects, Namespaces and CRDs first. Raises Failure for unreadable files and, if `checked`, for problems."""
    sources, unreadable = read_files(paths)
    if unreadable:
        raise Failure("\n".join(map(str, unreadable)), ExitCode.USAGE)
    if checked:
        problems = [finding for finding in lint(sources).findings if finding.severity is Severity.ERROR]
        if problems:
            raise Failure("\n".join(finding_lines(problems, color=False)))
    objects = [obj for source in sources for obj in _objects(source)]
    if not objects:
        raise Failure(f"no objects in {', '.join(paths)}", ExitCode.USAGE)
    return sorted(
        objects,
        key=lambda obj: (
            APPLIED_FIRST.index(obj["kind"]) if obj["kind"] in APPLIED_FIRST else len(APPLIED_FIRST)
        ),
    )


def _objects(source: SourceFile) -> list[Mapping[str, Any]]:
    content = read_documents(source.data, is_json=source.is_json)
    flaws = [*content.flaws, *(flaw for document in content.documents for flaw in document.flaws)]
    if flaws:
        raise Failure(f"{source.name}: {flaws[0].message}: run jangar lint {source.name} for the position")
    objects: list[Mapping[str, Any]] = []
    for document in content.documents:
        value = document.value
        is_list = isinstance(value, dict) and str(value.get("kind", "")).endswith("List")
        objects += value.get("items") or [] if is_list else [value]
    for obj in objects:
        if source.named and not _is_object(obj):
            raise Failure(f"{source.name}: an object lacks apiVersion, kind or metadata.name")
    return [obj for obj in objects if _is_object(obj)]


def _is_object(obj: Any) -> bool:
    if not isinstance(obj, dict) or not obj.get("apiVersion") or not obj.get("kind"):
        return False
    meta = obj.get("metadata")
    return isinstance(meta, dict) and bool(meta.get("name") or meta.get("generateName"))


def finding_lines(findings: Iterable[Finding], *, color: bool) -> Iterator[str]:
    """Lines as compilers write them: `file:line:column: error: Kind/name: field: problem (fix)`."""
    for finding in findings:
        position = printable(f"{finding.file}:{finding.position.line}:{finding.position.column}:")
        severity = f"{finding.severity}:"
        if color:
            position = typer.style(position, bold=True)
            severity = typer.style(severity, fg=_COLORS[finding.severity], bold=True)
        owner = f"{finding.kind}/{finding.name or '?'}" if finding.kind else ""
        fix = f" ({finding.fix})" if finding.fix else ""
        what = ": ".join(part for part in (owner, finding.field, f"{finding.message}{fix}") if part)
        yield f"{position} {severity} {printable(what)}"


def summary(report: Report) -> str:
    """The last line: numbers of objects, files and problems."""
    checked = f"{counted(len(report.objects), 'object')} in {counted(report.files, 'file')}"
    results = [counted(report.errors, "problem")] if report.errors else []
    results += [counted(report.warnings, "warning")] if report.warnings else []
    others = f"; {counted(report.others, 'other object')} not checked" if report.others else ""
    return f"{checked}: {', '.join(results) or 'no problems'}{others}"


def report_json(report: Report, unreadable: Iterable[CannotRead]) -> dict[str, Any]:
    """The report for scripts."""
    return {
        "problems": [_finding_json(finding) for finding in report.findings],
        "unreadable": [{"file": item.name, "message": str(item)} for item in unreadable],
        "checked": len(report.objects),
        "files": report.files,
        "notChecked": report.others,
        "errors": report.errors,
        "warnings": report.warnings,
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "file": finding.file,
        "line": finding.position.line,
        "column": finding.position.column,
        "kind": finding.kind,
        "name": finding.name,
        "field": finding.field,
        "step": finding.step,
        "reason": str(finding.reason),
        "message": finding.message,
        "fix": finding.fix,
        "severity": str(finding.severity),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of the command line that choose a run."""

    orchestration: str = ""
    """The Orchestration to run."""
    run: str = ""
    """The OrchestrationRun to start, of several."""
    name: str = ""
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The objects to apply first, and the run to create then."""

    others: tuple[Mapping[str, Any], ...]
    run: Obj


def start_of(objects: Sequence[Mapping[str, Any]], wanted: RunOptions, *, source: str) -> Start:
    """The run that the manifests contain, or a new one of their Orchestration.

    Raises Failure if there is no such run, or several, or its parameters are invalid.
    """
    runs = [item for item in objects if _is(item, ORCHESTRATION_RUN.name)]
    definitions = [item for item in objects if _is(item, ORCHESTRATION.name)]
    others = tuple(item for item in objects if not _is(item, ORCHESTRATION_RUN.name))
    if runs and not wanted.orchestration:
        run = _run_of_manifest(_one(runs, "OrchestrationRun", "--run", wanted.run, source), wanted)
    elif definitions or wanted.orchestration:
        runnable = definitions if wanted.orchestration else _outermost(definitions)
        run = _new_run(
            _one(runnable, "Orchestration", "--orchestration", wanted.orchestration, source), wanted
        )
    else:
        raise Failure(
            f"{source} contains no Orchestration or OrchestrationRun to run "
            f"(jangar apply -f {source} applies its objects)",
            ExitCode.USAGE,
        )
    _check_parameters(run, definitions)
    return Start(others=others, run=run)


def with_generated_name(run: Obj) -> Obj:
    """The same run with a name that the API generates."""
    meta = dict(run["metadata"])
    meta["generateName"] = f"{str(meta.pop('name'))[:MAX_PREFIX]}-"
    return run | {"metadata": meta}


def _is(obj: Mapping[str, Any], kind: str) -> bool:
    return obj["kind"] == kind and str(obj["apiVersion"]).partition("/")[0] == ORCHESTRATION.group


def _outermost(definitions: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Definitions that no other definition runs as a step; all if they run each other in a cycle."""
    nested = {
        (step.get("orchestrationRef") or {}).get("name")
        for definition in definitions
        for step in (definition.get("spec") or {}).get("steps") or ()
    }
    return [
        definition for definition in definitions if definition["metadata"].get("name") not in nested
    ] or definitions


def _one(
    candidates: Sequence[Mapping[str, Any]], kind: str, option: str, name: str, source: str
) -> Mapping[str, Any]:
    names = [str(item["metadata"].get("name") or item["metadata"].get("generateName")) for item in candidates]
    shown_names = ", ".join(names[:MAX_NAMES])
    if name:
        for item, item_name in zip(candidates, names, strict=True):
            if item_name == name:
                return item
        near = Guesses(names).nearest(name)
        hint = f"; did you mean {near}?" if near else f"; it contains {shown_names}" if names else ""
        raise Failure(f"{source} contains no {kind} {name}{hint}", ExitCode.NOT_FOUND)
    if len(candidates) > 1:
        raise Failure(
            f"{source} contains {len(candidates)} {kind}s that can run: {shown_names}; choose one with {option} NAME",
            ExitCode.USAGE,
        )
    return candidates[0]


def _run_of_manifest(run: Mapping[str, Any], wanted: RunOptions) -> Obj:
    meta, spec = dict(run["metadata"]), dict(run.get("spec") or {})
    if wanted.name:
        meta.pop("generateName", None)
        meta["name"] = wanted.name
    if wanted.parameters:
        spec["parameters"] = dict(spec.get("parameters") or {}) | dict(wanted.parameters)
    return {**run, "metadata": meta, "spec": spec}


def _new_run(orchestration: Mapping[str, Any], wanted: RunOptions) -> Obj:
    meta = orchestration["metadata"]
    name = {"name": wanted.name} if wanted.name else {"generateName": f"{meta['name'][:MAX_PREFIX]}-"}
    namespace = {"namespace": meta["namespace"]} if meta.get("namespace") else {}
    spec: Obj = {"orchestrationRef": {"name": meta["name"]}}
    if wanted.parameters:
        spec["parameters"] = dict(wanted.parameters)
    return {
        "apiVersion": f"{ORCHESTRATION_RUN.group}/{VERSION}",
        "kind": ORCHESTRATION_RUN.name,
        "metadata": {**namespace, **name},
        "spec": spec,
    }


def _check_parameters(run: Obj, definitions: Sequence[Mapping[str, Any]]) -> None:
    """Checks against a definition in the manifests; otherwise the run itself reports problems."""
    spec = run["spec"]
    named = (spec.get("orchestrationRef") or {}).get("name")
    by_name = {item["metadata"].get("name"): item.get("spec") for item in definitions}
    definition = spec.get("orchestration") or by_name.get(named)
    if definition is None:
        return
    try:
        read = OrchestrationSpec.model_validate(definition)
    except ValidationError:
        return
    problems = parameter_problems(read, spec.get("parameters") or {})
    if problems:
        raise Failure("\n".join([*problems, "pass parameters with -p NAME=VALUE"]), ExitCode.USAGE)
