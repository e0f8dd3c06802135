"""Checks files and reports all findings."""

from collections.abc import Iterable
from dataclasses import dataclass

from jangar.lint.cross_object_checks import findings_across
from jangar.lint.documents import FileContent, read_documents
from jangar.lint.files import SourceFile
from jangar.lint.finding import Finding, Owner, Severity, finding_of_flaw
from jangar.lint.manifests import Sorted, sort_document
from jangar.lint.objects import CheckedObject, check_object
from jangar.lint.reasons import FileReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The findings of some files, by file and line."""

    findings: tuple[Finding, ...]
    objects: tuple[CheckedObject, ...]
    files: int
    others: int
    """Number of objects of other products, which were skipped."""

    @property
    def errors(self) -> int:
        return sum(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def warnings(self) -> int:
        return len(self.findings) - self.errors


def lint(sources: Iterable[SourceFile]) -> Report:
    """Check every object of every file, then references between objects."""
    found = Sorted()
    order: dict[str, int] = {}
    for source in sources:
        order.setdefault(source.name, len(order))
        content = read_documents(source.data, is_json=source.is_json)
        found.findings.extend(_flaw_findings(source.name, content))
        if source.named and not content.documents and not content.flaws:
            found.findings.append(_holds_nothing(source.name, content))
        for document in content.documents:
            sort_document(source.name, document, found, named=source.named)
    objects = tuple(check_object(manifest) for manifest in found.manifests)
    findings = [
        *found.findings,
        *(item.manifest.finding(diagnostic) for item in objects for diagnostic in item.diagnostics),
        *findings_across(objects),
    ]
    findings.sort(key=lambda item: (order[item.file], item.position))
    return Report(findings=tuple(findings), objects=objects, files=len(order), others=found.others)


def _holds_nothing(file: str, content: FileContent) -> Finding:
    """The finding for a named file that is empty or contains only comments: it is probably the wrong one."""
    return Finding(
        file=file,
        position=content.text.position(0),
        reason=FileReason.NO_OBJECTS,
        message="the file holds no objects",
        fix="write a manifest, or name another file",
    )


def _flaw_findings(file: str, content: FileContent) -> list[Finding]:
    findings = [finding_of_flaw(file, flaw, content.text, Owner()) for flaw in content.flaws]
    for document in content.documents:
        findings.extend(
            finding_of_flaw(file, flaw, content.text, Owner.of(document.value, flaw.path))
            for flaw in document.flaws
        )
    return findings
