"""`jangar run`, `watch`, `logs` and `doctor` as a user types them, on their own control plane."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import time

import pytest
import yaml

from e2e.laptop_process import JANGAR, LaptopProcess, step, tool

pytestmark = pytest.mark.xdist_group("laptop")


def orchestration(name, *steps, **spec):
    return {
        "apiVersion": "orchestration.proompteng.ai/v1alpha1",
        "kind": "Orchestration",
        "metadata": {"name": name},
        "spec": {"steps": list(steps)} | spec,
    }


TOOLS = (
    tool("greets", "echo hello; echo; echo there"),
    tool("fails", "echo 'boom: no disk' >&2; exit 3"),
    tool("sleeps", "echo asleep; exec sleep 100"),
)


@pytest.fixture(scope="module")
def laptop(tmp_path_factory):
    """Not started: the first run starts it."""
    made = LaptopProcess(tmp_path_factory.mktemp("home"))
    yield made
    made.jangar("down", "--stop-work")
    made.end()


@pytest.fixture
def file(laptop):
    def write(*objects, name="f.yaml"):
        (laptop.home / name).write_text(yaml.safe_dump_all(objects))
        return name

    return write


def name_in(output):
    return re.search(r"^(\S+) (?:succeeded|failed|was cancelled) after", output, re.MULTILINE)[1]


class Terminal:
    """A command on a terminal of 80 columns."""

    def __init__(self, laptop, *words, **environment):
        plain = {name: value for name, value in laptop.environment.items() if name not in {"NO_COLOR", "CI"}}
        size = {"COLUMNS": "80", "LINES": "24", "TERM": "xterm"}
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [JANGAR, *words],
            env=plain | size | environment,
            cwd=laptop.home,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.text = ""

    def until(self, text, times=1, seconds=60):
        """Read until the text appeared this often."""
        deadline = time.monotonic() + seconds
        while self.text.count(text) < times:
            assert time.monotonic() < deadline, f"{text!r} was not printed: {self.text!r}"
            self._read(0.2)

    def press(self, key):
        os.write(self._ours, key)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def end(self):
        """Its exit code after all output is read."""
        deadline = time.monotonic() + 60
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.text
            self._read(0.2)
        while self._read(0.2):
            pass
        os.close(self._ours)
        return self.process.returncode

    def _read(self, seconds):
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:
            return False
        self.text += data.decode(errors="replace")
        return bool(data)


def test_one_command_from_nothing_to_a_finished_run(laptop, file):
    """Without an API `run` starts one, prints a line about it, and leaves it up: the run can be read afterwards."""
    hello = orchestration("hello", step("a", "greets"), step("b", "greets", "a"))
    ran = laptop.jangar("run", file(*TOOLS, hello))
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.startswith("no API was running: started jangar ")
    assert re.search(r"^ +\S+s  b Succeeded in ", ran.stdout, re.MULTILINE)
    assert re.search(r"^hello-\w+ succeeded after \S+s: 2 steps$", ran.stdout, re.MULTILINE)
    assert "\x1b" not in ran.stdout
    name = name_in(ran.stdout)
    assert laptop.phase(name) == "Succeeded"
    assert laptop.done("logs", name) == "".join(
        f"{item} | {line}\n" for item in "ab" for line in ("hello", "", "there")
    )
    assert laptop.done("logs", name, "b", "--tail", "1") == "there\n"


def test_a_failed_run_exits_with_1_and_names_the_failure(laptop, file):
    """With the log tail and the next command to type."""
    ran = laptop.jangar(
        "run", file(*TOOLS, orchestration("bad", step("a", "fails"), step("b", "greets", "a")))
    )
    assert ran.returncode == 1
    name = name_in(ran.stdout)
    assert "a Failed in" in ran.stdout
    assert "b Skipped: it depends on a, which did not succeed" in ran.stdout
    assert "    | boom: no disk\n" in ran.stdout
    assert ran.stdout.endswith(
        f"Next:\n  jangar logs {name} a\n  jangar explain {name}\n  jangar retry {name}\n"
    )
    watched = laptop.jangar("watch", name)
    assert (watched.returncode, name_in(watched.stdout)) == (1, name)


def test_nothing_is_applied_if_the_file_has_problems(laptop, file):
    """Every problem with its line."""
    laptop.done("up", "--detach")
    cyclic = orchestration("cyclic", step("a", "greets", "b"), step("b", "greets", "a"), step("c", "x", "zz"))
    ran = laptop.jangar("run", file(tool("unseen", "true"), cyclic))
    assert ran.returncode == 1
    assert ran.stderr.count("f.yaml:") == 2
    assert laptop.jangar("get", "tool", "unseen").returncode == 4


def test_running_a_file_again_uses_a_new_name(laptop, file):
    """Running a file twice creates two runs; a live run with the name is not affected."""
    once = {
        "apiVersion": "orchestration.proompteng.ai/v1alpha1",
        "kind": "OrchestrationRun",
        "metadata": {"name": "once"},
        "spec": {"orchestration": {"steps": [step("a", "greets")]}},
    }
    given = file(*TOOLS, once)
    assert name_in(laptop.done("run", given)) == "once"
    again = laptop.jangar("run", given)
    assert re.match(r"run once already exists \(Succeeded\): created once-\w+ instead\n", again.stderr)
    long = file(
        *TOOLS,
        once | {"metadata": {"name": "long"}, "spec": {"orchestration": {"steps": [step("a", "sleeps")]}}},
    )
    assert "jangar watch long" in laptop.done("run", long, "--no-watch")
    refused = laptop.jangar("run", long)
    assert refused.returncode == 1
    assert "--name NAME starts another" in refused.stderr
    late = laptop.jangar("watch", "long", "--timeout", "1")
    assert (late.returncode, "long keeps running" in late.stderr) == (124, True)
    laptop.done("cancel", "long", "--wait")
    assert laptop.jangar("watch", "long").returncode == 3


@pytest.mark.rule("RUN-4")
def test_ctrl_c_prompts_and_cancels(laptop, file):
    """A tree on the terminal, a prompt, and the outcome as the exit code."""
    shown = Terminal(
        laptop, "run", file(*TOOLS, orchestration("asked", step("a", "sleeps"), step("b", "greets", "a")))
    )
    shown.until("asleep")
    assert "● " in shown.text
    shown.interrupt()
    shown.until("keep watching (g)?")
    shown.press(b"g")
    shown.until("?25l", 2)
    shown.interrupt()
    shown.until("keep watching (g)?", 2)
    shown.press(b"xc")
    assert shown.end() == 3
    assert "was cancelled after" in shown.text


def test_a_second_ctrl_c_keeps_the_run_alive(laptop, file):
    """The run continues, and the message says how to follow it."""
    shown = Terminal(
        laptop, "run", file(*TOOLS, orchestration("left", step("a", "sleeps"))), "--name", "left"
    )
    shown.until("Running")
    shown.interrupt()
    shown.until("keep watching (g)?")
    shown.interrupt()
    assert shown.end() == 130
    assert "left keeps running: jangar watch left" in shown.text
    assert laptop.phase("left") == "Running"
    laptop.done("cancel", "left", "--wait")


def test_an_interrupted_script_keeps_the_run_alive(laptop, file):
    """Without a terminal there is no prompt: the run continues, and the exit code means an unknown outcome."""
    given = file(*TOOLS, orchestration("piped", step("a", "sleeps")))
    piped = subprocess.Popen(
        [JANGAR, "run", given, "--name", "piped"],
        env=laptop.environment,
        cwd=laptop.home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while "a Running" not in piped.stdout.readline():
        assert piped.poll() is None
    piped.send_signal(signal.SIGINT)
    _, output = piped.communicate(timeout=60)
    assert piped.returncode == 130
    assert "piped keeps running" in output
    laptop.done("cancel", "piped", "--wait")


def test_ci_and_dumb_terminals_get_lines(laptop, file):
    """No escape sequence at all."""
    hello = file(*TOOLS, orchestration("plain", step("a", "greets")))
    for environment in ({"CI": "true"}, {"TERM": "dumb"}):
        shown = Terminal(laptop, "run", hello, **environment)
        assert shown.end() == 0
        assert "\x1b" not in shown.text
        assert "a Succeeded" in shown.text


def test_no_color_turns_off_colors_and_keeps_the_live_view(laptop, file):
    """B7: the tree is redrawn in place, and no sequence sets a color."""
    hello = file(*TOOLS, orchestration("colorless", step("a", "greets")))
    shown = Terminal(laptop, "run", hello, NO_COLOR="1")
    assert shown.end() == 0
    assert "✓ a" in shown.text
    assert "\x1b[" in shown.text
    assert not re.search(r"\x1b\[[0-9;]*(?:3[0-9]|4[0-9]|9[0-7])m", shown.text)


def test_logs_are_followed_from_the_start_to_the_end(laptop, file):
    """Including steps that start later."""
    slow = tool("slow", "for i in 1 2 3; do echo part $i; sleep 0.5; done")
    given = file(*TOOLS, slow, orchestration("told", step("a", "slow"), step("b", "greets", "a")))
    laptop.done("run", given, "--no-watch", "--name", "told")
    lines = [line.split(" | ") for line in laptop.done("logs", "told", "-f").splitlines()]
    output = [(step.strip(), text) for step, text in lines]
    assert [text for step, text in output if step == "a"] == ["part 1", "part 2", "part 3"]
    assert [text for step, text in output if step == "b"] == ["hello", "", "there"]


def test_a_last_line_without_a_newline_is_followed(laptop, file):
    """Also if it equals the line before it."""
    given = file(
        tool("stops-short", "echo again; sleep 1; printf again"), orchestration("s", step("a", "stops-short"))
    )
    laptop.done("run", given, "--no-watch", "--name", "short")
    assert laptop.done("logs", "short", "a", "-f") == "again\nagain\n"


@pytest.mark.rule("GC-6")
def test_logs_are_available_after_the_pod_is_gone(laptop, file):
    """The stored tail, with a note about it."""
    name = name_in(laptop.done("run", file(*TOOLS, orchestration("kept", step("a", "greets")))))
    uid = laptop.run(name)["metadata"]["uid"]
    selector = f"jangar.proompteng.ai/run-uid={uid}"
    findings = json.loads(laptop.done("get", "pods", "-l", selector, "-o", "json"))["items"]
    laptop.until(lambda: list((laptop.data / "log-tails" / "default").glob("*.log")))
    for pod in findings:
        laptop.done("delete", "pod", pod["metadata"]["name"])
    ran = laptop.jangar("logs", name, "a")
    assert (ran.returncode, ran.stdout) == (0, "hello\n\nthere\n")
    assert "the pod no longer exists" in ran.stderr


def test_logs_report_why_there_are_none(laptop, file):
    """Exit code 4."""
    given = file(*TOOLS, orchestration("none", step("a", "fails"), step("b", "greets", "a")))
    name = name_in(laptop.jangar("run", given).stdout)
    ran = laptop.jangar("logs", name, "b")
    assert (ran.returncode, ran.stdout) == (4, "")
    assert "b: the step has not run: skipped: it depends on a" in ran.stderr
    assert laptop.jangar("logs", name, "c").returncode == 4
    assert laptop.jangar("logs", name, "a", "--attempt", "2").returncode == 4
    assert laptop.jangar("logs").returncode == 2


def test_the_doctor_finds_no_problem_on_a_working_laptop(laptop, file):
    """And lists its checks."""
    laptop.done("run", file(*TOOLS, orchestration("well", step("a", "greets"))))
    output = laptop.done("doctor")
    assert output.endswith("no problems\n")
    assert re.search(r"^ok +kinds +20 kinds installed$", output, re.MULTILINE)
    assert json.loads(laptop.done("doctor", "-o", "json"))["healthy"] is True


def test_the_doctor_reports_an_api_that_is_not_up(laptop, tmp_path):
    """Exit code 5, with what to do."""
    ran = laptop.jangar("doctor", HOME=str(tmp_path))
    assert ran.returncode == 5
    assert "jangar up" in ran.stderr


def test_the_doctor_reports_an_unavailable_api_to_scripts(laptop, tmp_path):
    """As a JSON finding with the fix; the exit code stays 5."""
    ran = laptop.jangar("doctor", "-o", "json", HOME=str(tmp_path))
    assert (ran.returncode, ran.stderr) == (5, "")
    findings = json.loads(ran.stdout)
    assert findings["healthy"] is False
    [check] = findings["checks"]
    [problem] = check["problems"]
    assert check["name"] == "API"
    assert "jangar up" in problem["fix"]
