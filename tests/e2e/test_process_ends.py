"""Processes that cannot start or continue: one sentence, an exit code, no traceback."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

JANGAR = str(Path(sys.executable).with_name("jangar"))
FIRST_USER = 54_330
"""A uid without a user on any machine."""
BAD = {"JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS": "soon"}


@pytest.fixture
def taken():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def ended(tmp_path, *words, **more):
    return subprocess.run(
        [JANGAR, *map(str, words)],
        env=environment(tmp_path) | more,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def environment(home):
    kept = {name: text for name, text in os.environ.items() if not name.startswith("JANGAR_")}
    kept.pop("KUBECONFIG", None)
    return kept | {"HOME": str(home)}


def sentence(text):
    """The one line of an error; log warnings may precede it."""
    assert "Traceback" not in text, text
    assert "ExceptionGroup" not in text, text
    assert "internal error" not in text, text
    lines = [line for line in text.splitlines() if line.startswith("jangar")]
    assert len(lines) == 1, text
    return lines[0]


def test_a_bad_setting_is_one_sentence(tmp_path):
    """B3: the variable, its value, and the allowed values; exit code 2."""
    ran = ended(tmp_path, "up", **BAD)
    assert ran.returncode == 2, ran.stderr
    assert "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS='soon'" in sentence(ran.stderr)


@pytest.mark.parametrize("option", ["--port", "--web-port"])
def test_a_port_in_use_is_one_sentence(tmp_path, taken, option):
    """B3, B9: the port and the option to choose another; exit code 2."""
    ran = ended(tmp_path, "up", option, taken)
    assert ran.returncode == 2, ran.stderr
    assert f"port {taken} cannot be used" in sentence(ran.stderr)
    assert option in ran.stderr


@pytest.mark.parametrize("command", ["apiserver", "control-plane"])
def test_a_port_in_use_is_one_sentence_for_every_process(tmp_path, taken, command):
    """B3: also for the processes that run separately."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        '{"clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}], "users": [], '
        '"contexts": [{"name": "a", "context": {"cluster": "a"}}], "current-context": "a"}'
    )
    options = {"apiserver": ("--data-dir", tmp_path / "data"), "control-plane": ("--kubeconfig", kubeconfig)}
    ran = ended(tmp_path, command, "--port", taken, *options[command])
    assert ran.returncode == 2, ran.stderr
    assert f"port {taken} cannot be used" in sentence(ran.stderr)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")
@pytest.mark.parametrize("processes", [1, 3, 5, 8])
def test_too_few_processes_are_one_sentence_wherever_they_are_missed(tmp_path, processes):
    """E4: an error about a thread or process that cannot be started names the limit, at every point of the start.

    The limit counts the user's processes, and each case has its own user. If the limit suffices, the process starts.
    """
    user_id = FIRST_USER + processes
    tmp_path.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, user_id, user_id)
    # The installation may be below a directory of root's: this user may only read it.
    reading = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    user = ("setpriv", f"--reuid={user_id}", f"--regid={user_id}", "--clear-groups", *reading)
    output, errors = (tmp_path / "said", tmp_path / "errors")
    with output.open("w") as out, errors.open("w") as err:
        process = subprocess.Popen(
            [*user, "prlimit", f"--nproc={processes}", JANGAR, "up"],
            env=environment(home),
            cwd=home,
            stdout=out,
            stderr=err,
        )
    try:
        deadline = time.monotonic() + 120
        while process.poll() is None and "is up:" not in output.read_text():
            assert time.monotonic() < deadline, errors.read_text()
            time.sleep(0.05)
        if process.poll() is None:
            return
        assert process.returncode == 1
        assert "ulimit -u" in sentence(errors.read_text())
    finally:
        end_all_of(user_id)
        process.wait(timeout=30)


def end_all_of(user):
    """Its supervisor is a separate process that would outlive the test."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            if entry.name.isdecimal() and entry.stat().st_uid == user:
                os.kill(int(entry.name), signal.SIGKILL)
