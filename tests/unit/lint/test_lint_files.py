"""Which files a command line means."""

import io
import os

import pytest

from jangar.lint.files import CannotRead, SourceFile, read_sources
from jangar.lint.limits import MAX_BYTES


def read(*names, stdin=b""):
    return list(read_sources([str(name) for name in names], io.BytesIO(stdin)))


def test_a_directory_means_its_manifests_at_any_depth_in_order(tmp_path):
    for name in ("b.yaml", "a.json", "sub/c.yml", "notes.txt", ".hidden.yaml", ".git/d.yaml", "z/Chart.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "z" / "templates").mkdir()
    (tmp_path / "z" / "templates" / "t.yaml").write_text("{{ .Values.x }}")
    found = read(tmp_path)
    assert [os.path.relpath(item.name, tmp_path) for item in found] == [
        "a.json",
        "b.yaml",
        "sub/c.yml",
        "z/Chart.yaml",
    ]
    assert not any(item.named for item in found)


def test_a_file_is_read_once_whatever_its_suffix(tmp_path):
    file = tmp_path / "manifest.txt"
    file.write_text("a: 1")
    (tmp_path / "link").symlink_to(file)
    assert read(file, file, tmp_path / "link") == [SourceFile(name=str(file), data=b"a: 1", named=True)]


def test_a_dash_means_standard_input_once():
    assert read("-", "-", stdin=b"a: 1") == [SourceFile(name="<stdin>", data=b"a: 1", named=True)]


def test_no_more_is_read_than_is_allowed():
    (found,) = read("/dev/zero")
    assert len(found.data) == MAX_BYTES + 1


@pytest.mark.parametrize(
    ("make", "why"),
    [
        pytest.param(lambda path: path / "nosuch.yaml", "no such file", id="absent"),
        pytest.param(lambda path: path / "nosuch" / "x.yaml", "no such file", id="absent-directory"),
        pytest.param(lambda path: path, "no .yaml, .yml or .json files in it", id="empty-directory"),
        pytest.param(lambda path: path / ("x" * 300), "file name too long", id="long-name"),
        pytest.param(lambda _: "a\0b", "embedded null byte", id="nul-in-name"),
    ],
)
def test_an_unreadable_file_is_reported_with_the_reason(tmp_path, make, why):
    name = make(tmp_path)
    (found,) = read(name)
    assert isinstance(found, CannotRead)
    assert str(found) == f"cannot read {name}: {why}"


def test_one_file_that_cannot_be_read_hides_no_other(tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1")
    (tmp_path / "b.yaml").symlink_to(tmp_path / "nowhere")
    found = read(tmp_path)
    assert [type(item) for item in found] == [SourceFile, CannotRead]
