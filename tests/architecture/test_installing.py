"""What `make run` and `make setup` install, and that the locked files agree with each other."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKED = ROOT / "requirements"


def pins(name: str) -> dict[str, str]:
    text = (LOCKED / name).read_text("utf-8")
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", text, re.MULTILINE))


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
@pytest.mark.parametrize(("target", "is_development"), [("run", False), ("setup", True), ("check", True)])
def test_running_needs_no_development_dependencies(target, is_development):
    """`make run` installs what jangar itself needs; linters, type checker and tests come with `make setup`."""
    planned = subprocess.run(
        ["make", "-n", "-B", target], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert "-r requirements/runtime.txt -r requirements/build.txt" in planned
    assert ("-r requirements/dev.txt" in planned) is is_development


@pytest.mark.parametrize("name", ["runtime.txt", "build.txt"])
def test_locked_files_agree(name):
    """`make setup` after `make run`, and the reverse, changes no version."""
    development = pins("dev.txt")
    assert {item: version for item, version in pins(name).items() if development.get(item) != version} == {}
    assert len(pins(name)) > 5


def test_linters_and_tests_are_no_runtime_dependencies():
    """They are half of what development installs."""
    assert not {"mypy", "ruff", "pytest", "hypothesis", "helm-binary"} & pins("runtime.txt").keys()
