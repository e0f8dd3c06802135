"""`jangar` as a process: exit codes, streams, pipes and signals as a shell sees them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

JANGAR = str(Path(sys.executable).with_name("jangar"))
EXAMPLES = Path(__file__).parents[2] / "charts/agents/examples"
NOT_BUILT = "# Not built yet"
BROKEN = "apiVersion: tools.proompteng.ai/v1alpha1\nkind: Tool\nmetadata: {name: Ü\u202e\x1b}\nspec: {}\n"


def jangar(*arguments, stdin=b"", **environment):
    return subprocess.run(
        [JANGAR, *map(str, arguments)],
        input=stdin,
        env=os.environ | environment,
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_our_examples_have_no_problems():
    marked = [path for path in sorted(EXAMPLES.glob("*.yaml")) if path.read_text().startswith(NOT_BUILT)]
    ran = jangar("lint", *sorted(set(EXAMPLES.glob("*.yaml")) - set(marked)))
    assert ran.returncode == 0, ran.stdout.decode()
    refused = jangar("lint", *marked)
    assert refused.returncode == 1
    assert refused.stdout.decode().count("is not built yet") == len(marked) > 0


@pytest.mark.parametrize(
    ("arguments", "stdin", "code"),
    [
        pytest.param(["--version"], b"", 0, id="done"),
        pytest.param(["lint", "-"], b"kind: [", 1, id="problems"),
        pytest.param(["lint", "nosuch.yaml"], b"", 2, id="no-such-file"),
        pytest.param(["nosuch"], b"", 2, id="no-such-command"),
        pytest.param(["graph", "-"], b"apiVersion: v1\nkind: Secret\n", 4, id="not-found"),
    ],
)
def test_the_exit_code_reports_the_outcome(arguments, stdin, code):
    ran = jangar(*arguments, stdin=stdin)
    assert ran.returncode == code
    assert b"Traceback" not in ran.stderr


def test_a_closed_pipe_is_no_error():
    ran = subprocess.run(
        ["bash", "-c", f"'{JANGAR}' crds | head -n 1; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("---\n141\n", "")


@pytest.mark.skipif(
    not Path("/proc/self/syscall").exists(), reason="needs Linux to see what a process waits for"
)
def test_ctrl_c_is_quiet():
    process = subprocess.Popen(
        [JANGAR, "lint", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell starts background commands with SIGINT ignored, which is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    try:
        # Linux shows when the process sleeps in read(0): then lint waits for its input.
        wait_until_it_reads(process.pid)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, errors) == (130, b"")


def wait_until_it_reads(pid: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if Path(f"/proc/{pid}/syscall").read_text().split()[:2] == ["0", "0x0"]:
            return
        time.sleep(0.02)
    pytest.fail("lint never waited for its input")


def test_names_that_the_terminal_cannot_show_are_escaped():
    ran = jangar(
        "lint", "-", stdin=BROKEN.replace("\x1b", "").encode(), PYTHONIOENCODING="ascii", PYTHONUTF8="0"
    )
    assert ran.returncode == 1
    assert b"\\xdc\\u202e" in ran.stdout


def test_boxes_become_ascii_where_the_terminal_has_no_box_characters():
    definition = (
        b"apiVersion: orchestration.proompteng.ai/v1alpha1\nkind: Orchestration\nmetadata: {name: x}\n"
        b"spec: {steps: [{name: a, kind: ToolRun, toolRef: {name: t}}]}\n"
    )
    ran = jangar("graph", "-", stdin=definition, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert ran.stdout == b"Orchestration/x: 1 step one after another\n\n+---+\n| a |\n+---+\n"


def test_color_is_never_written_to_a_pipe():
    assert b"\x1b" not in jangar("lint", "-", stdin=b"kind: [", FORCE_COLOR="1").stdout


def test_python_minus_m_is_the_same_command():
    ran = subprocess.run(
        [sys.executable, "-m", "jangar.cli", "--version"], capture_output=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, jangar("--version").stdout)
