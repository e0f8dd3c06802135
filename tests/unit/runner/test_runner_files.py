"""Input files and artifacts stay below the root, whatever a path says."""

import contextlib
import hashlib
import os
import random

import pytest

from jangar.runner.result_files import collect_artifacts
from jangar.runner.rooted_files import Refused, Root
from jangar.runner.spec import OutputArtifact
from support.reliability_page import record_trials

TRIALS = 500


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("canary")
    return Root(tmp_path / "root")


def outside(root):
    return {path.name: path.read_text() for path in (root.path.parent / "outside").iterdir()}


@pytest.mark.parametrize("path", ["a/b.txt", "/workspace/a/b.txt", "./a//b.txt"])
def test_a_path_is_relative_or_below_the_workspace(root, path):
    root.write(path, b"x")
    assert (root.path / "a" / "b.txt").read_text() == "x"


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "a/../../x",
        "/etc/passwd",
        "/workspace/../x",
        "/workspaces/x",
        "",
        "/workspace",
        ".",
        "a\0b",
        "/",
    ],
)
def test_a_path_that_leads_out_is_refused(root, path):
    with pytest.raises(Refused):
        root.write(path, b"x")
    assert list(root.path.iterdir()) == []


def test_a_symbolic_link_is_not_followed(root):
    """Neither as a directory on the way nor as the file, neither to write nor to read."""
    (root.path / "dir").symlink_to(root.path.parent / "outside")
    (root.path / "file").symlink_to(root.path.parent / "outside" / "secret")
    for path in ("dir/secret", "dir/new", "file"):
        with pytest.raises(Refused):
            root.write(path, b"x")
    for path in ("dir/secret", "file"):
        with pytest.raises(Refused), root.reading(path):
            pass
    assert outside(root) == {"secret": "canary"}


def test_a_file_with_a_second_name_elsewhere_is_replaced_not_written_through(root):
    os.link(root.path.parent / "outside" / "secret", root.path / "file")
    root.write("file", b"new")
    assert (outside(root), (root.path / "file").read_bytes()) == ({"secret": "canary"}, b"new")


def test_a_file_that_is_there_already_is_left_alone(root):
    """As where a ConfigMap is mounted over it, which nothing can replace."""
    root.write("file", b"same")
    before = (root.path / "file").stat().st_ino
    root.write("file", b"same")
    assert (root.path / "file").stat().st_ino == before


def test_artifacts_are_reported_with_size_and_checksum(root):
    (root.path / "report.md").write_bytes(b"hello")
    (root.path / "folder").mkdir()
    os.mkfifo(root.path / "pipe")
    wanted = [
        OutputArtifact(name="report", path="/workspace/report.md", key="k"),
        OutputArtifact(name="missing", path="missing"),
        OutputArtifact(name="folder", path="folder"),
        OutputArtifact(name="pipe", path="pipe"),
        OutputArtifact(name="elsewhere", url="https://example.com/x"),
        OutputArtifact(name="out", path="/etc/passwd"),
    ]
    found = {item.artifact.name: item for item in collect_artifacts(root, wanted)}
    report = found["report"]
    assert (report.size, report.sha256) == (5, hashlib.sha256(b"hello").hexdigest())
    assert found["missing"].problem == "there is no such file"
    assert "not a regular file" in found["folder"].problem
    assert "not a regular file" in found["pipe"].problem
    assert (found["elsewhere"].problem, found["elsewhere"].size) == (None, None)
    assert "not below" in found["out"].problem


def test_checksums_have_a_bound(root):
    """A run's end does not wait for a disk: beyond it a file has a size and no checksum."""
    (root.path / "big").write_bytes(b"x" * 100)
    (found,) = collect_artifacts(root, [OutputArtifact(name="big", path="big")], max_hashed=99)
    assert (found.size, found.sha256) == (100, None)


def test_no_path_and_no_link_leads_out(root, record_property):
    """500 random trees of directories, files and links, with paths of their names and of traversal attempts."""
    names = ["a", "b", "..", ".", "", "dir", "file", "…", "-", "\n", "workspace", "x" * 300]
    targets = [
        "..",
        "../outside",
        "../outside/secret",
        "/",
        "/etc",
        ".",
        "a",
        str(root.path.parent / "outside"),
    ]
    for seed in range(TRIALS):
        rng = random.Random(seed)  # noqa: S311
        here = root.path / str(seed)
        here.mkdir()
        for name in ("a", "b", "dir", "file"):
            match rng.randrange(4):
                case 0:
                    (here / name).symlink_to(rng.choice(targets))
                case 1:
                    (here / name).mkdir()
                case 2:
                    (here / name).write_text("own")
        path = "/".join(rng.choice(names) for _ in range(rng.randrange(1, 6)))
        given = rng.choice(["", "/", "/workspace/", f"{root.path}/"]) + f"{seed}/" * rng.randrange(2) + path
        with contextlib.suppress(Refused, OSError):
            root.write(given, b"written")
        with contextlib.suppress(Refused, OSError), root.reading(given) as file:
            assert os.read(file, 100) in {b"written", b"own"}, given
    is_inside = outside(root) == {"secret": "canary"}
    record_trials(
        record_property,
        row="21: path traversal and symlinks in input files and artifacts",
        bed="G",
        seeds=range(TRIALS),
        failures=0 if is_inside else 1,
    )
    assert is_inside
    assert sorted(item.name for item in root.path.parent.iterdir()) == ["outside", "root"]
