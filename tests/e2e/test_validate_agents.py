"""scripts/agents/validate-agents.sh: it passes on our tree and fails on broken copies."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COPIED = ("scripts", "charts/agents", "argocd", "docs/reference", "src/picokube/apiserver/data")
CRD = "charts/agents/crds/orchestration.proompteng.ai_orchestrations.yaml"
BROKEN_EXAMPLE = """\
apiVersion: orchestration.proompteng.ai/v1alpha1
kind: Orchestration
metadata:
  name: broken
spec:
  steps:
    - name: build
      kind: Checkpoint
      dependsOn: [nowhere]
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the files that the script checks."""
    for part in COPIED:
        shutil.copytree(ROOT / part, tmp_path / part)
    return tmp_path


def validate(tree: Path) -> subprocess.CompletedProcess[str]:
    """Runs the script of `tree`, from another directory."""
    return subprocess.run(
        [tree / "scripts/agents/validate-agents.sh"],
        cwd="/",
        env=os.environ | {"JANGAR_PYTHON": sys.executable},
        text=True,
        capture_output=True,
        timeout=180,
        check=False,
    )


def test_our_tree_is_valid():
    ran = validate(ROOT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert {line.split()[0] for line in ran.stdout.splitlines()} <= {"ok", "skip"}


def test_an_edited_definition_fails_with_the_file_and_the_command(tree):
    file = tree / CRD
    file.write_text(file.read_text().replace("maxItems: 10000", "maxItems: 20000", 1))
    ran = validate(tree)
    assert ran.returncode == 1
    assert f"{CRD}: out of date" in ran.stdout
    assert "run 'make generate'" in ran.stdout


def test_a_definition_that_is_too_large_fails_with_its_size(tree):
    file = tree / CRD
    file.write_text(f"{file.read_text()}padding: {'x' * 256 * 1024}\n")
    ran = validate(tree)
    assert ran.returncode == 1
    assert f"{CRD}: 2" in ran.stdout
    assert "bytes as JSON, 262,144 allowed" in ran.stdout


def test_a_broken_example_fails_and_is_named(tree):
    (tree / "charts/agents/examples/broken.yaml").write_text(BROKEN_EXAMPLE)
    ran = validate(tree)
    assert ran.returncode == 1
    assert "FAIL  every example is valid" in ran.stdout
    assert "broken.yaml" in ran.stdout
    assert "nowhere" in ran.stdout


def test_an_empty_check_is_a_failure(tree):
    for folder in ("charts/agents/crds", "charts/agents/examples"):
        shutil.rmtree(tree / folder)
        (tree / folder).mkdir()
    ran = validate(tree)
    assert ran.returncode == 1
    reported = [line.split()[0] for line in ran.stdout.splitlines() if line[0] != " "]
    assert reported[:3] == ["FAIL", "FAIL", "FAIL"]
