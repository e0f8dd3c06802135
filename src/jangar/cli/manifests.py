"""The objects of some files, checked as `jangar lint` checks them, in the order in which an API takes them."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from jangar.cli.api_session import Failure
from jangar.cli.exit_codes import ExitCode
from jangar.cli.findings import finding_lines
from jangar.lint.documents import read_documents
from jangar.lint.files import CannotRead, SourceFile, read_sources
from jangar.lint.finding import Severity
from jangar.lint.report import lint

FIRST: Final = ("Namespace", "CustomResourceDefinition")


def read_objects(paths: Sequence[str], *, checked: bool) -> list[Mapping[str, Any]]:
    """Every object. Raises Failure with every problem if one cannot be read or, when `checked`, has problems."""
    found = list(read_sources(paths, sys.stdin.buffer))
    unreadable = [str(item) for item in found if isinstance(item, CannotRead)]
    if unreadable:
        raise Failure("\n".join(unreadable), ExitCode.USAGE)
    sources = [item for item in found if isinstance(item, SourceFile)]
    if checked:
        problems = [finding for finding in lint(sources).findings if finding.severity is Severity.ERROR]
        if problems:
            raise Failure("\n".join(finding_lines(problems, color=False)))
    objects = [obj for source in sources for obj in _objects(source)]
    if not objects:
        raise Failure(f"no objects in {', '.join(paths)}", ExitCode.USAGE)
    return sorted(objects, key=lambda obj: FIRST.index(obj["kind"]) if obj["kind"] in FIRST else len(FIRST))


def _objects(source: SourceFile) -> list[Mapping[str, Any]]:
    content = read_documents(source.data, is_json=source.is_json)
    flaws = [*content.flaws, *(flaw for item in content.documents for flaw in item.flaws)]
    if flaws:
        raise Failure(f"{source.name}: {flaws[0].message}: run jangar lint {source.name} for the position")
    found: list[Mapping[str, Any]] = []
    for document in content.documents:
        value = document.value
        is_list = isinstance(value, dict) and str(value.get("kind", "")).endswith("List")
        found += value.get("items") or [] if is_list else [value]
    for obj in found:
        if source.named and not _is_object(obj):
            raise Failure(f"{source.name}: an object lacks apiVersion, kind or metadata.name")
    return [obj for obj in found if _is_object(obj)]


def _is_object(obj: Any) -> bool:
    if not isinstance(obj, dict) or not obj.get("apiVersion") or not obj.get("kind"):
        return False
    meta = obj.get("metadata")
    return isinstance(meta, dict) and bool(meta.get("name") or meta.get("generateName"))
