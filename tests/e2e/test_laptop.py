"""`jangar up` as real processes: start, second start, crash, stop, with running work."""

import json
import os
import signal
import socket
import tempfile
from pathlib import Path

import pytest
import yaml

from e2e.laptop_process import LaptopProcess, run, step, tool
from support.container_processes import container_processes

pytestmark = pytest.mark.xdist_group("laptop")


@pytest.fixture
def laptop(tmp_path):
    made = LaptopProcess(tmp_path)
    yield made
    made.end()


@pytest.fixture
def shared():
    """A directory that the work can access: pods have their own /tmp, and run as another user under root."""
    with tempfile.TemporaryDirectory(prefix="jangar-laptop-", dir="/var/tmp") as directory:
        Path(directory).chmod(0o777)
        yield Path(directory)


def test_up_prints_the_next_commands_and_stops_cleanly(laptop):
    """The hints name the kubeconfig; Ctrl-C ends it, and the output says that nothing runs."""
    laptop.start()
    output = laptop.stop(signal.SIGINT)
    assert f"export KUBECONFIG={laptop.data}/kubeconfig\n" in output
    assert "jangar apply -f FILE" in output
    assert output.endswith("jangar is down; no pods are running\n")
    assert laptop.up.returncode == 0


def test_a_second_instance_is_rejected_with_the_pid_and_what_to_do(laptop):
    """A data directory has one process; with --detach, an instance that is already up is a success."""
    laptop.start()
    second = laptop.jangar("up")
    assert (second.returncode, second.stdout) == (1, "")
    assert f"jangar is already up (process {laptop.up.pid}" in second.stderr
    assert "jangar down" in second.stderr
    assert laptop.jangar("up", "--detach").returncode == 0
    assert laptop.up.poll() is None


def test_detached_it_outlives_the_command_and_reports_its_status(laptop):
    """up --detach, status, logs --server, down: each exits 0 and prints the current state."""
    assert "is up: https://127.0.0.1:" in laptop.done("up", "--detach")
    state = json.loads(laptop.done("status", "-o", "json"))
    assert state["up"]
    assert state["kubeconfig"] == str(laptop.data / "kubeconfig")
    assert state["parts"] == {"api": [], "node agent": [], "controllers": [], "machine": []}
    assert os.getsid(state["pid"]) == state["pid"]
    assert "informers synced" in laptop.done("logs", "--server")
    assert laptop.done("down") == "jangar is down; no pods are running\n"
    assert laptop.jangar("status").returncode == 5
    assert laptop.done("down").startswith("jangar is not up")


def test_detached_it_reports_why_it_could_not_start(laptop):
    """A port in use is named with instructions; the exit code is not 0."""
    laptop.start()
    port = json.loads(laptop.done("status", "-o", "json"))["server"].rpartition(":")[2]
    other = laptop.jangar("up", "--detach", "--data-dir", laptop.home / "other", "--port", port)
    assert other.returncode == 2
    assert f"port {port} cannot be used" in other.stderr
    assert "--port" in other.stderr


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def test_the_port_is_kept_and_another_directory_uses_the_next(laptop):
    """A kubeconfig stays valid across restarts."""
    # Not the first port: another test may take it between two starts.
    laptop.done("up", "--detach", "--port", free_port())
    first = json.loads(laptop.done("status", "-o", "json"))["server"]
    other = laptop.home / "other"
    laptop.done("up", "--detach", "--data-dir", other)
    second = json.loads(laptop.done("status", "-o", "json", "--data-dir", other))["server"]
    laptop.done("down", "--data-dir", other)
    laptop.done("down")
    laptop.done("up", "--detach")
    assert second != first
    assert json.loads(laptop.done("status", "-o", "json"))["server"] == first
    laptop.done("down")


@pytest.mark.rule("RUN-3")
def test_killed_during_a_run_it_continues_and_every_step_ran_once(laptop, shared):
    """kill -9 loses nothing: the step that ran meanwhile counts, the next ones start after the restart."""
    marks = shared / "marks"
    laptop.start()
    laptop.apply(
        *(tool(name, f"echo {name} >> {marks}; sleep 1") for name in ("one", "two", "three")),
        run("chain", step("one", "one"), step("two", "two", "one"), step("three", "three", "two")),
    )
    laptop.until(lambda: marks.exists() and "two" in marks.read_text())
    laptop.stop(signal.SIGKILL)
    laptop.start()
    laptop.until(lambda: laptop.phase("chain") == "Succeeded")
    assert marks.read_text().split() == ["one", "two", "three"]
    assert [step_status["attempt"] for step_status in laptop.run("chain")["status"]["stepStatuses"]] == [
        1,
        1,
        1,
    ]


def test_down_keeps_work_running_and_the_next_up_records_its_end(laptop, shared):
    """Stopping the control plane stops no work, and prints how much continues."""
    finish, mark = shared / "finish", shared / "began"
    laptop.done("up", "--detach")
    script = f"echo up > {mark}; until [ -e {finish} ]; do sleep 0.05; done"
    laptop.apply(tool("waits", script), run("waiting", step("only", "waits")))
    laptop.until(lambda: mark.exists() and mark.read_text().strip())
    assert "1 pod still running" in laptop.done("down")
    assert container_processes(laptop.data / "supervisor")
    finish.touch()
    laptop.done("up", "--detach")
    laptop.until(lambda: laptop.phase("waiting") == "Succeeded")
    laptop.done("down")


def test_down_with_stop_work_cancels_runs_and_ends_their_processes(laptop, shared):
    """Afterwards no process of the work is left, and the run is Cancelled."""
    mark = shared / "began"
    laptop.done("up", "--detach")
    laptop.apply(
        tool("sleeps", f"echo up > {mark}; exec sleep 100"), run("long", step("only", "sleeps"), team="a")
    )
    laptop.until(lambda: mark.exists() and mark.read_text().strip())
    output = laptop.done("down", "--stop-work")
    assert "cancelled 1 run: OrchestrationRun default/long" in output
    assert output.endswith("jangar is down; no pods are running\n")
    assert not container_processes(laptop.data / "supervisor")
    laptop.done("up", "--detach")
    assert laptop.phase("long") == "Cancelled"
    laptop.done("down")


def test_up_with_stop_work_ends_work_when_it_is_stopped(laptop, shared):
    """The same with Ctrl-C."""
    mark = shared / "began"
    laptop.start("--stop-work")
    laptop.apply(tool("sleeps", f"echo up > {mark}; exec sleep 100"), run("long", step("only", "sleeps")))
    laptop.until(lambda: mark.exists() and mark.read_text().strip())
    output = laptop.stop(signal.SIGINT)
    assert "cancelled 1 run" in output
    assert output.endswith("jangar is down; no pods are running\n")
    assert not container_processes(laptop.data / "supervisor")


def test_merging_the_kubeconfig_keeps_everything_else(laptop):
    """Other contexts, users, unknown fields and the current context stay; a second merge changes nothing."""
    own = laptop.home / ".kube" / "config"
    own.parent.mkdir()
    theirs = {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {"colors": True},
        "current-context": "work",
        "clusters": [{"name": "work", "cluster": {"server": "https://work.example"}}],
        "users": [{"name": "me", "user": {"token": "secret"}}],
        "contexts": [{"name": "work", "context": {"cluster": "work", "user": "me", "namespace": "a"}}],
    }
    own.write_text(yaml.safe_dump(theirs))
    own.chmod(0o640)
    assert laptop.jangar("kubeconfig").returncode == 4
    laptop.start()
    assert laptop.done("kubeconfig") == f"{laptop.data}/kubeconfig\n"
    assert "--context jangar" in laptop.done("kubeconfig", "--merge")
    once = own.read_text()
    laptop.done("kubeconfig", "--merge")
    merged = yaml.safe_load(once)
    assert own.read_text() == once
    assert own.stat().st_mode & 0o777 == 0o640
    assert merged["current-context"] == "work"
    assert merged["preferences"] == {"colors": True}
    for section in ("clusters", "users", "contexts"):
        assert merged[section][0] == theirs[section][0]
        assert [item["name"] for item in merged[section]][1:] == ["jangar"]
    assert "no runs" in laptop.jangar("list", "--context", "jangar").stderr
