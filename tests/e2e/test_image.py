"""The image's tar from directories created here; `scripts/image/try` runs the real one."""

import gzip
import hashlib
import io
import json
import os
import re
import runpy
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WRITER = ROOT / "scripts" / "image" / "write-oci"
USER = 65532


@pytest.fixture
def trees(tmp_path):
    for name in ("bin/tool", "etc/passwd"):
        (tmp_path / "base" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "base" / name).write_text(name)
    (tmp_path / "base/bin/tool").chmod(0o755)
    os.link(tmp_path / "base/bin/tool", tmp_path / "base/bin/second-name")
    (tmp_path / "base/bin/link").symlink_to("tool")
    (tmp_path / "product/workspace").mkdir(parents=True)
    return [tmp_path / "base", tmp_path / "product"]


def written(out, trees):
    subprocess.run([sys.executable, WRITER, "jangar.local/x:1", out, *trees], check=True, capture_output=True)
    with tarfile.open(out) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}


def layers_of(files):
    docker = json.loads(files["manifest.json"])[0]
    return [tarfile.open(fileobj=io.BytesIO(gzip.decompress(files[name]))) for name in docker["Layers"]]


def test_the_same_files_give_the_same_image(trees, tmp_path):
    """Regardless of time and user."""
    first = written(tmp_path / "a.tar", trees)
    os.utime(trees[0] / "bin/tool", (1, 1))
    assert written(tmp_path / "b.tar", trees) == first


def test_every_blob_is_named_by_its_content(trees, tmp_path):
    files = written(tmp_path / "a.tar", trees)
    blobs = {name: data for name, data in files.items() if name.startswith("blobs/")}
    assert blobs
    for name, data in blobs.items():
        assert name.endswith(hashlib.sha256(data).hexdigest())
    manifest = json.loads(files["index.json"])["manifests"][0]
    assert manifest["annotations"]["io.containerd.image.name"] == "jangar.local/x:1"
    read = json.loads(files[f"blobs/sha256/{manifest['digest'].removeprefix('sha256:')}"])
    assert [
        f"blobs/sha256/{layer['digest'].removeprefix('sha256:')}" in blobs for layer in read["layers"]
    ] == [
        True,
        True,
    ]


def test_files_are_owned_by_root_except_the_users_directories(trees, tmp_path):
    base, product = layers_of(written(tmp_path / "a.tar", trees))
    assert {item.uid for item in base} == {0}
    assert product.getmember("workspace").uid == USER
    assert (base.getmember("bin/tool").mode, base.getmember("bin/link").linkname) == (0o755, "tool")
    assert base.extractfile("bin/second-name").read() == b"bin/tool"


def test_the_dockerfile_describes_the_same_image():
    """User, directory, entry point, environment and labels; the directories come from the same script."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    config = runpy.run_path(str(WRITER))["CONFIG"]
    assert re.findall(r"^(?:USER|WORKDIR) (\S+)$", text.partition("FROM scratch")[2], re.MULTILINE) == [
        config["User"],
        config["WorkingDir"],
    ]
    assert json.loads(re.search(r"^ENTRYPOINT (.*)$", text, re.MULTILINE).group(1)) == config["Entrypoint"]
    assert re.search(r"^ENV (.*)$", text, re.MULTILINE).group(1).split() == config["Env"]
    assert "RUN scripts/image/make-root /image" in text


def test_the_image_runs_as_an_unprivileged_user():
    """A numeric user, which Kubernetes can check, and not root."""
    assert runpy.run_path(str(WRITER))["CONFIG"]["User"] == f"{USER}:{USER}"
