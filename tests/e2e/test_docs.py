"""What the documents tell people to type works as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
EXPECTED = re.compile(r"#\s*exit (\d+)\s*$")


def commands():
    for document in DOCUMENTS:
        for block in BLOCK.findall(document.read_text()):
            for line in block.splitlines():
                if line.strip() and not line.startswith("#"):
                    yield pytest.param(line.strip(), id=f"{document.name}: {line.strip()}")


@pytest.mark.parametrize("line", [each for each in commands() if each.values[0].startswith("jangar")])
def test_every_jangar_command_in_the_documents_runs(line):
    """A command in a document exits 0, or with the code its comment announces."""
    wanted = int(found.group(1)) if (found := EXPECTED.search(line)) else 0
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


@pytest.mark.parametrize("line", [each for each in commands() if each.values[0].startswith("make")])
def test_every_make_target_in_the_documents_exists(line):
    """`make something` names a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(line.split("#")[0].split()[1:]) <= targets


def test_links_between_documents_lead_somewhere():
    """A relative link names a file that exists."""
    broken = [
        f"{document.name}: {target}"
        for document in DOCUMENTS
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", CODE.sub("", document.read_text()))
        if not (document.parent / target).exists()
    ]
    assert broken == []
