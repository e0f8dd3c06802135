"""Finds Jangar's objects among documents by apiVersion and kind."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from jangar.api.kind import Kind
from jangar.api.kinds import KINDS, by_api_version_and_kind
from jangar.api.meta import JsonObject
from jangar.api.problems import dotted
from jangar.domain.orchestration.message_text import Guesses
from jangar.lint.documents import Document
from jangar.lint.finding import Diagnostic, Finding, name_in, short
from jangar.lint.reasons import FileReason
from jangar.lint.source_positions import Path

_OURS: Final = "proompteng.ai"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of an object: a document of a file, or an item of a list."""

    file: str
    document: Document
    path: Path = ()

    def finding(self, diagnostic: Diagnostic, *, kind: str = "", name: str = "") -> Finding:
        return Finding(
            file=self.file,
            position=self.document.position((*self.path, *diagnostic.path)),
            reason=diagnostic.reason,
            message=short(diagnostic.message),
            fix=short(diagnostic.fix),
            field=short(dotted(diagnostic.path)),
            kind=kind,
            name=name,
            step=diagnostic.step,
            severity=diagnostic.severity,
        )


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """One object of a Jangar kind."""

    place: Place
    kind: Kind
    value: JsonObject

    @cached_property
    def metadata(self) -> JsonObject:
        found = self.value.get("metadata")
        return found if isinstance(found, dict) else {}

    @cached_property
    def name(self) -> str:
        return name_in(self.metadata)

    @cached_property
    def namespace(self) -> str:
        found = self.metadata.get("namespace")
        return found if isinstance(found, str) else ""

    @cached_property
    def spec(self) -> JsonObject:
        found = self.value.get("spec")
        return found if isinstance(found, dict) else {}

    @cached_property
    def flawed_paths(self) -> frozenset[Path]:
        """Fields with a flaw in their text; further problems of them only repeat it."""
        skip = len(self.place.path)
        flaws = self.place.document.flaws
        return frozenset(flaw.path[skip:] for flaw in flaws if flaw.path[:skip] == self.place.path)

    def finding(self, diagnostic: Diagnostic) -> Finding:
        return self.place.finding(diagnostic, kind=self.kind.name, name=short(self.name))


@dataclass(slots=True)
class Sorted:
    """Documents by kind: Jangar's objects, findings, and the number of other objects."""

    manifests: list[Manifest] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    others: int = 0


def sort_document(file: str, document: Document, found: Sorted, *, named: bool) -> None:
    """Add the objects of a document. A document that is no object is a finding only in files that the user named."""
    for place, value in _objects(Place(file=file, document=document), document.value):
        kind = _kind_of(value, named=named)
        match kind:
            case Kind():
                found.manifests.append(Manifest(place=place, kind=kind, value=value))
            case Diagnostic():
                found.findings.append(place.finding(kind))
            case None:
                found.others += 1


def _objects(place: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    """The object itself, or the items of a list of objects."""
    if not isinstance(value, dict) or not isinstance(value.get("items"), list) or not _is_list(value):
        yield place, value
        return
    for index, item in enumerate(value["items"]):
        yield Place(file=place.file, document=place.document, path=("items", index)), item


def _is_list(value: JsonObject) -> bool:
    kind, version = value.get("kind"), value.get("apiVersion")
    return isinstance(kind, str) and isinstance(version, str) and kind.endswith("List")


def _kind_of(value: Any, *, named: bool) -> Kind | Diagnostic | None:
    """The kind, a problem, or None for an object of another product."""
    if not isinstance(value, dict):
        message = f"expected an object with apiVersion and kind, found {_described(value)}"
        return Diagnostic(path=(), reason=FileReason.NOT_AN_OBJECT, message=message) if named else None
    version, name = value.get("apiVersion"), value.get("kind")
    if version is None and name is None:
        message = "not a Kubernetes object: apiVersion and kind are missing"
        return Diagnostic(path=(), reason=FileReason.NOT_AN_OBJECT, message=message) if named else None
    for part, found in (("apiVersion", version), ("kind", name)):
        if found is not None and not isinstance(found, str):
            message = f"must be text, found {_described(found)}"
            return Diagnostic(path=(part,), reason=FileReason.NOT_AN_OBJECT, message=message)
    return _known(version or "", name or "", named=named)


def _known(version: str, name: str, *, named: bool) -> Kind | Diagnostic | None:
    kind = by_api_version_and_kind(version, name)
    if kind:
        return kind
    group = version.partition("/")[0]
    by_kind = next((item for item in KINDS if item.name == name), None)
    if group == _OURS or group.endswith(f".{_OURS}"):
        return _unknown(version, name, by_kind)
    if by_kind and (not version or Guesses([by_kind.api_version]).nearest(version)):
        path = ("apiVersion",) if version else ()
        message = f'unknown apiVersion "{short(version)}" of {name}' if version else "apiVersion is missing"
        fix = f"write apiVersion: {by_kind.api_version}"
        return Diagnostic(path=path, reason=FileReason.UNKNOWN_KIND, message=message, fix=fix)
    if named and not (version and name):
        message = f"{'kind' if version else 'apiVersion'} is missing"
        return Diagnostic(path=(), reason=FileReason.NOT_AN_OBJECT, message=message)
    return None


def _unknown(version: str, name: str, by_kind: Kind | None) -> Diagnostic:
    if not name:
        return Diagnostic(path=(), reason=FileReason.NOT_AN_OBJECT, message="kind is missing")
    if by_kind:
        message = f'there is no {name} in apiVersion "{short(version)}"'
        fix = f"write apiVersion: {by_kind.api_version}"
        return Diagnostic(path=("apiVersion",), reason=FileReason.UNKNOWN_KIND, message=message, fix=fix)
    in_group = [kind.name for kind in KINDS if kind.api_version == version]
    close = Guesses(in_group).nearest(name) or Guesses([kind.name for kind in KINDS]).nearest(name)
    fix = f'did you mean "{close}"?' if close else f"known kinds: {', '.join(kind.name for kind in KINDS)}"
    message = f'unknown kind "{short(name)}" in apiVersion "{short(version)}"'
    return Diagnostic(path=("kind",), reason=FileReason.UNKNOWN_KIND, message=message, fix=fix)


def _described(value: Any) -> str:
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "nothing"
