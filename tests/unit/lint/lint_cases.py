"""Short ways to lint a text and to read what came of it."""

import textwrap

from jangar.lint.documents import read_documents
from jangar.lint.files import SourceFile
from jangar.lint.report import Report, lint

HEAD = "apiVersion: orchestration.proompteng.ai/v1alpha1\nkind: Orchestration\nmetadata: {name: nightly}\n"


def linted(*texts: str, named: bool = True) -> Report:
    """The report on some files named a.yaml, b.yaml and so on."""
    return lint(
        SourceFile(name=f"{chr(97 + number)}.yaml", data=textwrap.dedent(text).encode(), named=named)
        for number, text in enumerate(texts)
    )


def reported(report: Report) -> list[str]:
    """Each finding as `line:column field: message (fix)`."""
    return [
        f"{finding.position.line}:{finding.position.column} {finding.field}: {finding.message}"
        + (f" ({finding.fix})" if finding.fix else "")
        for finding in report.findings
    ]


def reasons(report: Report) -> list[str]:
    return [str(finding.reason) for finding in report.findings]


def values(text: str | bytes) -> list[object]:
    """The documents of a text."""
    return [
        document.value
        for document in read_documents(text if isinstance(text, bytes) else text.encode()).documents
    ]


def flaws(text: str | bytes, *, is_json: bool = False) -> list[str]:
    """The flaws of a text as `line:column reason message`."""
    content = read_documents(text if isinstance(text, bytes) else text.encode(), is_json=is_json)
    found = [*content.flaws, *(flaw for document in content.documents for flaw in document.flaws)]
    places = [content.text.position(flaw.offset) for flaw in found]
    return [
        f"{place.line}:{place.column} {flaw.reason}: {flaw.message}"
        for place, flaw in zip(places, found, strict=True)
    ]
