"""Everything that is wrong with one object by itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN
from jangar.lint.definitions import ReadDefinition, definition_complaints, read_definition
from jangar.lint.finding import Diagnostic
from jangar.lint.kinds import agent_step_complaints, kind_complaints
from jangar.lint.manifests import Manifest
from jangar.lint.metadata import metadata_complaints
from jangar.lint.schemas import admitted_object
from jangar.lint.source_positions import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedObject:
    """An object, what is wrong with it, and the definition it holds, if any."""

    manifest: Manifest
    complaints: tuple[Diagnostic, ...]
    definition: ReadDefinition | None = None
    definition_path: Path = ("spec",)


def check_object(manifest: Manifest) -> CheckedObject:
    """Metadata, schema, graph and its controller's rules. What was wrong with a field's text is not said again."""
    admitted, of_schema = admitted_object(manifest.kind, manifest.value)
    path = _definition_path(manifest)
    definition = None if path is None else read_definition(_at(admitted, path))
    of_graph: list[Diagnostic] = []
    if definition is not None and path is not None:
        of_graph += definition_complaints(definition, under=path)
        of_graph += agent_step_complaints(definition, under=path)
    of_kind = kind_complaints(manifest.kind, _at(admitted, ("spec",)))
    better = [*metadata_complaints(manifest.value), *of_graph, *of_kind]
    complaints = [*better, *_not_said_by(better, of_schema)]
    flawed = manifest.flawed_paths
    return CheckedObject(
        manifest=manifest,
        complaints=tuple(complaint for complaint in complaints if not _is_echo(complaint.path, flawed)),
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


def _not_said_by(better: list[Diagnostic], others: list[Diagnostic]) -> Iterator[Diagnostic]:
    """Those of `others` whose place has no complaint in `better`, which knows more about it."""
    said = {item.path for item in better} | {item.path[:-1] for item in better if item.path[-1:] == ("name",)}
    return (other for other in others if other.path not in said)


def _is_echo(path: Path, flawed: frozenset[Path]) -> bool:
    return any(path[:length] in flawed for length in range(1, len(path) + 1)) if flawed else False
