"""The real supervisor without disk space, file descriptors or processes: nothing is lost, and it recovers by itself."""

import asyncio
import os
import resource
import shutil
import subprocess
import tempfile
import time
import traceback
from contextlib import contextmanager
from pathlib import Path

import pytest

from integration.nodeagent.test_supervisor import DEADLINE, linked
from picokube.nodeagent.supervisor.protocol import RunKey
from picokube.nodeagent.supervisor_link import StartRefused

RETRY_SECONDS = 0.2
ESCAPED = "sleep 4013.7"


@pytest.fixture
def data_directory():
    made = Path(tempfile.mkdtemp(prefix="jangar-starved-"))
    made.chmod(0o755)
    yield made
    deadline = time.monotonic() + 10
    while (made / "supervisor" / "socket").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    shutil.rmtree(made, ignore_errors=True)


@contextmanager
def small_disk(path, size):
    """A separate file system that can be filled."""
    path.mkdir(parents=True)
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path], check=False, capture_output=True
    )
    if mount.returncode != 0:
        pytest.skip("only root can mount a small file system")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def fill(path):
    """Leave no free byte."""
    with (path / "filler").open("ab", buffering=0) as file:
        for chunk in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * chunk)
            except OSError:
                continue


def within_limit(kind, limits, body):
    """In a copy of this process: a lowered hard limit may be permanent, even for root."""
    pid = os.fork()
    if pid == 0:
        try:
            resource.setrlimit(kind, limits)
            asyncio.run(body())
            os._exit(0)
        except BaseException:  # noqa: BLE001 - a copy must not run the other tests
            traceback.print_exc()
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


async def started_in_time(bench, order):
    """Retry like the node agent until it is started; return the reasons of the failed attempts."""
    reasons = set()
    async with asyncio.timeout(3 * DEADLINE):
        while True:
            try:
                await bench.link.start(order)
            except StartRefused as error:
                reasons.add(error.refusal.reason)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return reasons


def test_exit_codes_on_a_full_disk_are_reported_and_written_when_there_is_space(data_directory):
    """E4: 48 of 60 finished steps were recorded as Failed 137. A new start waits, and the supervisor is the same."""

    async def body(disk):
        async with linked(disk) as bench:
            pid = bench.link.pid
            script = f"until [ -e {data_directory}/go ]; do sleep 0.02; done; echo lost; exit 7"
            keys = [await bench.started(script, pod=f"p{n}") for n in range(12)]
            fill(disk)
            (data_directory / "go").touch()
            assert [(await bench.ended(key)).code for key in keys] == [7] * 12
            # The last page of the journal takes some more.
            orders = [bench.order("echo late; exit 3", pod=f"late{n}") for n in range(60)]
            answers = await asyncio.gather(
                *(bench.link.start(order) for order in orders), return_exceptions=True
            )
            refusals = [answer.refusal for answer in answers if isinstance(answer, StartRefused)]
            assert {refusal.reason for refusal in refusals} == {"DiskFull"}
            assert "disk is full" in refusals[0].message
            (disk / "filler").unlink()
            await asyncio.gather(*(started_in_time(bench, order) for order in orders))
            assert [(await bench.ended(order.key)).code for order in orders] == [3] * 60
            assert bench.link.pid == pid
            journal = disk / "supervisor" / "journal"
            await bench.until(lambda: journal.read_text().count('"fact":"ended"') == 72)
            assert bench.log("late59") == [["stdout", "late"]]

    with small_disk(data_directory / "small", "8m") as disk:
        asyncio.run(body(disk))
        deadline = time.monotonic() + DEADLINE
        while (disk / "supervisor" / "socket").exists() and time.monotonic() < deadline:
            time.sleep(0.05)


@pytest.mark.parametrize("files", [128, 256])
def test_more_containers_than_file_descriptors_wait(data_directory, files):
    """E4: with `ulimit -n 256` and 150 steps 82 failed. Each runs once and ends with its own exit code."""

    async def body():
        async with linked(data_directory) as bench:
            pid, count = bench.link.pid, 2 * files // 3
            orders = [bench.order("echo x >> ran; sleep 0.3; exit 5", pod=f"p{n}") for n in range(count)]
            reasons = await asyncio.gather(*(started_in_time(bench, order) for order in orders))
            assert set().union(*reasons) == {"TooManyOpenFiles"}
            assert [(await bench.ended(order.key)).code for order in orders] == [5] * count
            assert bench.text("ran").count("x") == count
            assert bench.link.pid == pid

    within_limit(resource.RLIMIT_NOFILE, (files, files), body)


@pytest.mark.skipif(os.geteuid() != 0, reason="starts containers as another user")
def test_more_containers_than_processes_wait(data_directory):
    """E4: no start fails because of the process limit: it is rejected with the reason and retried."""
    user, limit, count = 61234, 24, 20

    async def body():
        async with linked(data_directory) as bench:
            orders = [
                bench.order("sleep 0.3; exit 4", pod=f"p{n}", user=user, group=user) for n in range(count)
            ]
            reasons = await asyncio.gather(*(started_in_time(bench, order) for order in orders))
            assert set().union(*reasons) == {"TooManyProcesses"}
            assert [(await bench.ended(order.key)).code for order in orders] == [4] * count

    within_limit(resource.RLIMIT_NPROC, (limit, limit), body)


def test_a_container_gets_the_file_limit_of_its_user(data_directory):
    """The supervisor raises its own limit, which would break programs that use `select`."""

    async def body():
        async with linked(data_directory) as bench:
            assert (await bench.ended(await bench.started("ulimit -Sn"))).code == 0
            assert bench.log() == [["stdout", "100"]]

    within_limit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]), body)


@pytest.mark.rule("CAN-4")
def test_no_process_outlives_a_container_even_without_namespaces(data_directory):
    """E10, B5: an empty environment, a new session, a dead parent; and the supervisor killed."""

    def escaped():
        processes = subprocess.run(["pgrep", "-fx", ESCAPED], capture_output=True, text=True, check=False)
        return processes.stdout.split()

    async def body():
        async with linked(data_directory) as bench:
            script = f"env -i setsid {ESCAPED} & (setsid sh -c '{ESCAPED} & exit' &); sleep 0.3; "
            await bench.ended(await bench.started(script + "exit 0", pod="ended"))
            assert not escaped()
            await bench.started(script + "echo up > up; sleep 100", pod="killed")
            await bench.until(lambda: bench.text("up") and len(escaped()) == 2)
            os.kill(bench.link.pid, 9)
            run = await bench.ended(RunKey("killed", "main", 0))
            assert (run.state, run.reason, run.code) == ("lost", "SupervisorLost", 137)
            assert "supervisor died" in run.message
            await bench.until(lambda: not escaped())

    asyncio.run(body())
