"""The data directory of `jangar up`: its permissions, how commands find it, and how it reports damage."""

import json
import os
import stat
import urllib.error
import urllib.request

import pytest

from e2e.laptop_process import LaptopProcess, run, step, tool

pytestmark = pytest.mark.xdist_group("laptop")


@pytest.fixture
def laptop(tmp_path):
    made = LaptopProcess(tmp_path)
    yield made
    made.end()


def open_to_others(directory):
    return [
        f"{path.name} {stat.S_IMODE(path.stat().st_mode):o}"
        for path in (directory, *directory.iterdir())
        if not path.is_symlink() and path.stat().st_mode & 0o077
    ]


def status_of(url):
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:  # noqa: S310 - ours
            return answer.status, answer.headers.get("set-cookie")
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("set-cookie")


def test_a_directory_is_private_found_and_chosen(laptop):
    """B4, B9, E15: permissions are closed, an empty token grants no access, and every command finds the directory."""
    laptop.data = laptop.home / "elsewhere"
    laptop.data.mkdir(mode=0o755)
    for name in ("objects.db", "page-token"):
        (laptop.data / name).touch()
        (laptop.data / name).chmod(0o644)
    old = os.umask(0)
    try:
        laptop.start("--data-dir", laptop.data)
    finally:
        os.umask(old)
    assert open_to_others(laptop.data) == []
    token = (laptop.data / "page-token").read_text()
    assert len(token) >= 32
    known = json.loads((laptop.data / "laptop.json").read_text())
    assert status_of(f"{known['url']}/?token=") == (401, None)

    named = {"KUBECONFIG": str(laptop.data / "kubeconfig")}
    again = json.loads(laptop.done("status", "-o", "json", JANGAR_DATA_DIR=str(laptop.data)))
    assert again["dataDir"] == str(laptop.data)
    script = "echo kept by the laptop"
    applied = laptop.jangar(
        "apply",
        "-f",
        "-",
        stdin=json.dumps(tool("say", script)) + "\n---\n" + json.dumps(run("one", step("a", "say"))),
        **named,
    )
    assert applied.returncode == 0, applied.stderr
    laptop.until(lambda: "Succeeded" in laptop.done("list", **named))
    laptop.until(
        lambda: (laptop.data / "log-tails").is_dir() and any((laptop.data / "log-tails").rglob("*.log"))
    )
    job = laptop.done("get", "jobs", "-o", "name", **named).strip().partition("/")[2]
    laptop.done("delete", "job", job, **named)
    assert "kept by the laptop" in laptop.done("logs", "one", **named)


def test_a_directory_with_other_files_is_not_changed(laptop):
    """B4: the permissions of a directory with other files that others can read are not changed silently."""
    directory = laptop.home / "shared"
    directory.mkdir(mode=0o755)
    (directory / "notes.txt").write_text("of somebody")
    refused = laptop.jangar("up", "--data-dir", directory)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "chmod 700" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert stat.S_IMODE(directory.stat().st_mode) == 0o755


def test_the_advice_about_a_damaged_database_works(laptop):
    """E15: the message names the directory to move away, after which the next start creates a new one."""
    laptop.start()
    laptop.stop()
    database = laptop.data / "objects.db"
    database.write_bytes(b"no database at all, but long enough to have a header" * 1000)
    refused = laptop.jangar("up")
    assert refused.returncode == 1
    assert f"move {laptop.data} away" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    laptop.data.rename(laptop.data.with_name("damaged"))
    laptop.start()
    assert laptop.done("list") == ""
