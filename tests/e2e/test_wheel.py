"""The wheel installed without a source tree, as `pip`, `pipx` and `uv tool install` do."""

import os
import re
import subprocess
import sys
import sysconfig
import urllib.request
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("laptop")

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"


def run(*words, cwd, **environment):
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "KUBECONFIG"}}
    done = subprocess.run(
        list(map(str, words)),
        cwd=cwd,
        env=kept | environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    directory = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", directory, cwd=ROOT)
    (wheel_file,) = directory.glob("jangar-*.whl")
    return wheel_file


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The command in its own environment with the same dependencies and nothing of this tree."""
    directory = tmp_path_factory.mktemp("installed") / "venv"
    run(sys.executable, "-m", "venv", directory, cwd="/")
    python = directory / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", wheel, cwd="/")
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd="/").strip())
    shared = [item for item in sys.path if item.endswith(("site-packages", "dist-packages"))]
    assert sysconfig.get_path("purelib") in shared
    (site / "shared.pth").write_text("\n".join(shared))
    where = run(python, "-c", "import jangar; print(jangar.__file__)", cwd="/").strip()
    assert Path(where).is_relative_to(directory)
    return directory / "bin" / "jangar"


def test_the_wheel_contains_everything_of_the_package(wheel):
    """B12: including the web page, schemas, CRDs and migrations; no tests and no caches."""
    with zipfile.ZipFile(wheel) as opened:
        names = {item for item in opened.namelist() if ".dist-info/" not in item}
        entries = opened.read(
            next(item for item in opened.namelist() if item.endswith("entry_points.txt"))
        ).decode()
    there = {
        str(path.relative_to(SOURCE))
        for package in ("jangar", "picokube", "kubekit")
        for path in (SOURCE / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == there
    assert any(name.endswith("index.html") for name in names)
    assert {"jangar", "kubectl-jangar"} == set(re.findall(r"^([\w-]+) =", entries, re.MULTILINE))


def test_a_run_succeeds_without_a_source_tree(installed, tmp_path):
    """B12: control plane, node agent, web page and runs, from an empty directory."""
    home = {"HOME": str(tmp_path)}
    example = ROOT / "examples" / "01-hello-dag"
    assert run(installed, "version", cwd=tmp_path, **home).startswith("jangar ")
    run(installed, "lint", example, cwd=tmp_path, **home)
    data = ("--data-dir", tmp_path / "data")
    run(installed, "up", "--detach", *data, cwd=tmp_path, **home)
    try:
        assert "succeeded after" in run(installed, "run", example, *data, cwd=tmp_path, **home)
        status = run(installed, "status", *data, cwd=tmp_path, **home)
        page = re.search(r"^web UI: +(http://127\.0\.0\.1:\S+)$", status, re.MULTILINE)[1]
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(page, timeout=30) as answer:
            assert b"<script" in answer.read()
    finally:
        run(installed, "down", "--stop-work", *data, cwd=tmp_path, **home)
