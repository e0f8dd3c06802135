"""Secrets that are files: their values are known, and masked in every form that programs write them in."""

import base64
from urllib.parse import quote

import pytest

from jangar.runner.output import Mask
from jangar.runner.preparation import MAX_SECRET_LENGTH, secrets_in_files


def test_a_volume_is_read_as_kubernetes_mounts_it(tmp_path):
    """Links to files in a directory of a version; places that are files count, and what is not there does not."""
    version = tmp_path / "keys" / "..2026"
    version.mkdir(parents=True)
    (version / "token").write_text("s3cret-one")
    (version.parent / "..data").symlink_to("..2026")
    (version.parent / "token").symlink_to("..data/token")
    alone = tmp_path / "alone"
    alone.write_text("s3cret-two")
    places = f"{tmp_path}/keys:{alone}:{tmp_path}/nowhere:"
    assert secrets_in_files(places) == ["s3cret-one", "s3cret-two"]
    assert secrets_in_files("") == []


def test_a_file_without_end_is_no_hindrance(tmp_path):
    """So much of it is read."""
    (tmp_path / "big").write_bytes(b"x" * (MAX_SECRET_LENGTH + 1))
    assert [len(values_in_file) for values_in_file in secrets_in_files(str(tmp_path))] == [MAX_SECRET_LENGTH]


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(lambda value: value, id="plain"),
        pytest.param(lambda value: f"https://bot:{quote(value, safe='')}@host/", id="url"),
        pytest.param(lambda value: base64.b64encode(value.encode()).decode(), id="base64"),
        pytest.param(lambda value: value.replace('"', '\\"'), id="json"),
    ],
)
def test_a_value_is_masked_however_a_program_writes_it(written):
    value = 's3cret/7f+"x'
    text = Mask([value]).text(f"says {written(value)} loudly")
    assert "***" in text
    assert value not in text
    assert written(value) not in text
