"""Commands in the documents work as written.

A `sh` block contains independent commands; `document_sessions` handles the consecutive ones. In other blocks only the
names of commands and files are checked.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.document_sessions import EXIT, missing_lines, script, session_of
from e2e.kubectl_command import kubectl_binary
from e2e.laptop_process import LaptopProcess
from jangar.api.reasons import Reason
from jangar.cli.app import app

ROOT = Path(__file__).parents[2]
RUNBOOKS = ROOT / "docs" / "runbooks"
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
ALONE = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
ANY = re.compile(r"^```[a-z ]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
VERBS = {registered_command.name for registered_command in app.registered_commands}


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


def typed(document: Path, blocks: re.Pattern[str]) -> list[str]:
    """The commands in a document's blocks in order."""
    lines = "".join(blocks.findall(document.read_text())).splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def commands():
    for document in DOCUMENTS:
        for line in typed(document, ALONE):
            yield pytest.param(line, id=f"{name_of(document)}: {line}")


@pytest.mark.parametrize(
    "line", [command for command in commands() if command.values[0].startswith("jangar")]
)
def test_every_jangar_command_in_the_documents_runs(line):
    """A command in a document exits 0, or with the code its comment announces."""
    wanted = int(announced.group(1)) if (announced := EXIT.search(line)) else 0
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == wanted, done.stdout + done.stderr


@pytest.mark.parametrize("line", [command for command in commands() if command.values[0].startswith("make")])
def test_every_make_target_in_the_documents_exists(line):
    """`make something` names a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(line.split("#")[0].split()[1:]) <= targets


@pytest.mark.xdist_group("documents")
@pytest.mark.parametrize(
    "document", [item for item in DOCUMENTS if session_of(item.read_text())], ids=name_of
)
def test_a_session_in_a_document_prints_what_the_document_shows(document, tmp_path):
    """Its commands work in order on a new laptop and print the lines of the document; kubectl's only if it is
    installed.
    """
    kubectl = kubectl_binary()
    session = [
        item for item in session_of(document.read_text()) if kubectl or not item.line.startswith("kubectl")
    ]
    laptop = LaptopProcess(tmp_path)
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    path = [str(Path(sys.executable).parent), *([str(kubectl.parent)] if kubectl else [])]
    try:
        done = subprocess.run(
            ["bash", "-c", script(session, outputs)],
            cwd=ROOT,
            env=laptop.environment | {"PATH": ":".join([*path, os.environ["PATH"]])},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
    finally:
        laptop.end()
    assert done.returncode == 0, done.stdout + done.stderr
    texts = {item.name: item.read_text() for item in outputs.iterdir()}
    missing = {
        item.line: missing_lines(item, texts[str(number)]) for number, item in enumerate(session) if item.says
    }
    assert {line: lines for line, lines in missing.items() if lines} == {}, texts


@pytest.mark.parametrize(
    "command",
    [
        "kubectl get orun -w",
        "kubectl wait --for=condition=Succeeded",
        "kubectl explain orun.spec",
        "kubectl describe orun",
    ],
)
def test_kubectl_commands_are_shown_with_their_output(command):
    """In the laptop's guide, as a session that is checked."""
    session = session_of((ROOT / "docs" / "guides" / "laptop.md").read_text())
    assert [item for item in session if item.line.startswith(command) and item.says]


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_commands_without_a_session_exist(document):
    """In any block, `jangar something` is a command, and its paths below examples/ exist."""
    lines = [line for line in typed(document, ANY) if line.startswith(("jangar ", "kubectl "))]
    verbs = {line.split()[1] for line in lines if re.match(r"jangar [a-z]", line)}
    assert verbs - VERBS <= {"is"}
    files = {word for line in lines for word in line.split() if word.startswith("examples/")}
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_links_between_documents_are_valid():
    """A relative link names a file that exists."""
    broken = [
        f"{document.name}: {target}"
        for document in DOCUMENTS
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", CODE.sub("", document.read_text()))
        if not (document.parent / target).exists()
    ]
    assert broken == []


NO_WARNING = {
    *("ValidSpec", "Starting", "Running", "Pending", "Suspended", "Resumed", "WaitingForDependencies"),
    *("WaitingForPlace", "RetryBackoff", "Blocked", "Stopping", "Succeeded", "Reused", "ConditionFalse"),
    *("DependencyFailed", "DependencySkipped", "FailFast", "Cancelling", "Cancelled", "RunCancelled"),
    *("CancelDisabled", "AlreadySucceeded", "AlreadyFailed", "AlreadyCancelled", "NotRequested"),
    *("NotFinished", "NotFailed", "NotCancelled", "NotDegraded", "NotSuspended", "JobFound", "Finished"),
    *("WithinLimits", "AlreadyStarted", "ConcurrencyLimit", "QueueLimit", "RateLimit"),
}
"""Reasons that no Warning has: no failure, or another reason reports it."""


def test_every_reason_of_a_warning_has_a_page():
    """The page describes what happened, why, and what to do; the index lists all reasons."""
    reported = {path.stem: path.read_text() for path in RUNBOOKS.glob("*.md") if path.name != "README.md"}
    index = (RUNBOOKS / "README.md").read_text()
    assert {str(item) for item in Reason} - NO_WARNING - set(re.findall(r"`(\w+)`", index)) == set()
    assert set(re.findall(r"\]\((\w+)\.md\)", index)) == set(reported)
    for name, page in reported.items():
        assert page.startswith(f"# {name}\n"), name
        assert [
            part for part in ("**What happened.**", "**Why.**", "**What to do.**") if part not in page
        ] == []
