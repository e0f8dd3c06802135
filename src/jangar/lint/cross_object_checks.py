"""Checks across objects: duplicates, recursive orchestrations, parameters of runs, references.

A reference to an object that is in no file is a warning, and only if the files have others of its kind: the object may
exist in the cluster, or be created later.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from jangar.api.kind import Kind
from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN
from jangar.api.reasons import Reason
from jangar.domain.orchestration.message_text import Guesses, quoted
from jangar.domain.orchestration.parameters import resolve_parameters
from jangar.domain.orchestration.planning.initial import own_definition_problem, source_problem
from jangar.domain.orchestration.recursion import nested_calls, recursion_problems
from jangar.lint.finding import Diagnostic, Finding, Severity
from jangar.lint.manifests import Manifest
from jangar.lint.objects import CheckedObject
from jangar.lint.reasons import FileReason
from jangar.lint.source_positions import Path

_REFERENCES: Final = {
    "agentRef": "Agent",
    "providerRef": "AgentProvider",
    "toolRef": "Tool",
    "orchestrationRef": "Orchestration",
    "implementationSpecRef": "ImplementationSpec",
    "memoryRef": "Memory",
    "vcsRef": "VersionControlProvider",
    "signalRef": "Signal",
    "policyRef": "ApprovalPolicy",
}


class Catalogue:
    """All objects of all files, by kind and name."""

    def __init__(self, objects: Sequence[CheckedObject]) -> None:
        self.objects = objects
        self._by_name: dict[str, dict[str, list[CheckedObject]]] = defaultdict(lambda: defaultdict(list))
        for item in objects:
            if item.manifest.name:
                self._by_name[item.manifest.kind.name][item.manifest.name].append(item)
        self._guesses = {kind: Guesses(names) for kind, names in self._by_name.items()}

    def find(self, kind: str, name: str, namespace: str) -> CheckedObject | None:
        """The object with this name. An object without a namespace matches any."""
        for item in self._by_name[kind].get(name, ()) if kind in self._by_name else ():
            if not namespace or item.manifest.namespace in {"", namespace}:
                return item
        return None

    def has(self, kind: str) -> bool:
        return kind in self._by_name

    def guess(self, kind: str, name: str) -> str:
        return self._guesses[kind].fix(name, otherwise="it must exist before a run needs it")


def findings_across(objects: Sequence[CheckedObject]) -> Iterator[Finding]:
    """All findings that need more than one object."""
    catalogue = Catalogue(objects)
    yield from _duplicates(objects)
    yield from _recursions(objects)
    for item in objects:
        manifest = item.manifest
        if manifest.kind is ORCHESTRATION_RUN:
            yield from map(manifest.finding, _parameter_diagnostics(item, catalogue))
            yield from map(manifest.finding, _retry_diagnostics(item, catalogue))
        yield from map(manifest.finding, _reference_diagnostics(item, catalogue))


def _duplicates(objects: Sequence[CheckedObject]) -> Iterator[Finding]:
    first: dict[tuple[Kind, str, str], Manifest] = {}
    for item in objects:
        manifest = item.manifest
        if not manifest.metadata.get("name"):
            continue
        earlier = first.setdefault((manifest.kind, manifest.namespace, manifest.name), manifest)
        if earlier is not manifest:
            line = earlier.place.document.position((*earlier.place.path, "metadata", "name")).line
            diagnostic = Diagnostic(
                path=("metadata", "name"),
                reason=FileReason.DUPLICATE_OBJECT,
                message=f"the same object stands in {earlier.place.file}:{line}",
                fix="the one applied last wins; keep one",
                severity=Severity.WARNING,
            )
            yield manifest.finding(diagnostic)


def _recursions(objects: Sequence[CheckedObject]) -> Iterator[Finding]:
    """Recursive orchestrations within each namespace; references do not cross namespaces."""
    by_namespace: dict[str, dict[str, CheckedObject]] = defaultdict(dict)
    for item in objects:
        if (
            item.manifest.kind is ORCHESTRATION
            and item.definition
            and item.definition.spec
            and item.manifest.name
        ):
            by_namespace[item.manifest.namespace].setdefault(item.manifest.name, item)
    for found in by_namespace.values():
        calls = {
            name: nested_calls(item.definition.spec)
            for name, item in found.items()
            if item.definition and item.definition.spec
        }
        for name, problems in recursion_problems(calls).items():
            manifest = found[name].manifest
            for problem in problems:
                yield manifest.finding(Diagnostic.of(problem))


def _parameter_diagnostics(run: CheckedObject, catalogue: Catalogue) -> Iterator[Diagnostic]:
    """Problems of the run's parameters, if its definition is in the files and was read completely."""
    definition = run.definition
    if definition is None:
        name = _name_in(run.manifest.spec.get("orchestrationRef"))
        found = catalogue.find(ORCHESTRATION.name, name, run.manifest.namespace) if name else None
        definition = found.definition if found else None
    given = run.manifest.spec.get("parameters") or {}
    if definition is None or definition.whole is None or not isinstance(given, dict):
        return
    if all(isinstance(value, str) for value in given.values()):
        resolved = resolve_parameters(definition.whole, given)
        if isinstance(resolved, list):
            yield from map(Diagnostic.of, resolved)


def _retry_diagnostics(run: CheckedObject, catalogue: Catalogue) -> Iterator[Diagnostic]:
    """Problems of a retry with a definition of its own, or of another Orchestration."""
    spec = run.manifest.spec
    retried = _name_in(spec.get("retryOf"))
    if retried is None:
        return
    if spec.get("orchestration"):
        yield Diagnostic.of(own_definition_problem())
    old = catalogue.find(ORCHESTRATION_RUN.name, retried, run.manifest.namespace)
    if old is None or old.manifest.spec.get("retryOf"):
        return
    problem = source_problem(
        retried,
        made_of=_name_in(old.manifest.spec.get("orchestrationRef")),
        has_own=bool(old.manifest.spec.get("orchestration")),
        named=_name_in(spec.get("orchestrationRef")),
    )
    if problem is not None:
        yield Diagnostic.of(problem)


def _reference_diagnostics(each: CheckedObject, catalogue: Catalogue) -> Iterator[Diagnostic]:
    manifest = each.manifest
    holders: list[tuple[Path, Any]] = [(("spec",), manifest.spec)]
    if each.definition is not None:
        inside: Any = (
            manifest.spec if each.definition_path == ("spec",) else manifest.spec.get("orchestration")
        )
        steps = inside.get("steps") if isinstance(inside, dict) else None
        if isinstance(steps, list):
            holders += [((*each.definition_path, "steps", n), step) for n, step in enumerate(steps)]
    for path, holder in holders:
        for field in _REFERENCES.keys() & holder.keys() if isinstance(holder, dict) else ():
            kind, name = _REFERENCES[field], _name_in(holder[field])
            if name and catalogue.has(kind) and catalogue.find(kind, name, manifest.namespace) is None:
                step = holder.get("name") if len(path) > 1 else None
                yield Diagnostic(
                    path=(*path, field),
                    reason=Reason.REFERENCE_NOT_FOUND,
                    message=f"{kind} {quoted(name)} is in none of these files",
                    fix=catalogue.guess(kind, name),
                    step=step if isinstance(step, str) else None,
                    severity=Severity.WARNING,
                )


def _name_in(reference: Any) -> str | None:
    name = reference.get("name") if isinstance(reference, dict) else reference
    return name if isinstance(name, str) and name else None
