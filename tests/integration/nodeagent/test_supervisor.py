"""The real supervisor with real processes: started once, kept, ended, and reported."""

import asyncio
import os
import shutil
import signal
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from picokube.nodeagent.supervisor.kernel import boot_id
from picokube.nodeagent.supervisor.protocol import Mount, RunKey, StartContainer
from picokube.nodeagent.supervisor_link import SupervisorLink

DEADLINE = 20.0


class Bench:
    """One data directory with a supervisor, and an agent's connection to it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.link = SupervisorLink(directory / "supervisor")
        self.over: dict[RunKey, asyncio.Event] = {}
        self.link.subscribe(
            lambda run: self.over.setdefault(run.key, asyncio.Event()).set() if run.is_over else None
        )

    def order(self, script, *, pod="pod", container="main", restart=0, **rest):
        key = RunKey(pod, container, restart)
        return StartContainer(
            key=key,
            argv=("sh", "-c", script),
            env={"PATH": os.environ["PATH"]},
            cwd=str(self.directory),
            log=str(self.directory / "logs" / pod / f"{container}.log"),
            **rest,
        )

    async def started(self, script, **rest):
        run = await self.link.start(self.order(script, **rest))
        return run.key

    async def ended(self, key):
        async with asyncio.timeout(DEADLINE):
            await self.over.setdefault(key, asyncio.Event()).wait()
        return next(run for run in self.link.runs_of(key.pod) if run.key == key)

    async def until(self, condition):
        async with asyncio.timeout(DEADLINE):
            while not condition():  # noqa: ASYNC110 - other processes set no event
                await asyncio.sleep(0.01)

    def text(self, name):
        path = self.directory / name
        return path.read_text() if path.exists() else ""

    def log(self, pod="pod", container="main"):
        lines = self.text(f"logs/{pod}/{container}.log").splitlines()
        return [line.split(" ", 3)[1::2] for line in lines]


@asynccontextmanager
async def linked(directory: Path) -> AsyncIterator[Bench]:
    """An agent's lifetime: it ends without notifying the supervisor."""
    bench = Bench(directory)
    following = asyncio.create_task(bench.link.run())
    try:
        async with asyncio.timeout(DEADLINE):
            await bench.link.connected()
        yield bench
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


@pytest.fixture
def directory():
    made = Path(tempfile.mkdtemp(prefix="jangar-supervisor-"))
    yield made
    journal = made / "supervisor" / "socket"
    deadline = time.monotonic() + 10
    # An idle supervisor exits by itself; each test ends what still runs.
    while journal.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    shutil.rmtree(made, ignore_errors=True)


def is_there(path):
    return Path(path).exists()


def is_alive(pid):
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_a_container_runs_and_is_reported_with_its_exit_code_and_output(directory):
    async def body():
        async with linked(directory) as bench:
            run = await bench.ended(await bench.started("echo out; echo err >&2; printf rest; exit 5"))
            assert (run.state, run.code) == ("ended", 5)
            assert run.started_at <= run.finished_at
            assert sorted(bench.log()) == [["stderr", "err"], ["stdout", "out"], ["stdout", "rest"]]

    asyncio.run(body())


def test_a_missing_program_is_a_start_error(directory):
    async def body():
        async with linked(directory) as bench:
            order = bench.order("x")
            for n, mounts in enumerate([(), (Mount(source="/tmp", target="/tmp"),)]):  # noqa: S108
                key = RunKey(f"pod{n}", "main", 0)
                changed = StartContainer(
                    key=key, argv=("no-such-program",), env=order.env, cwd="/", log=order.log, mounts=mounts
                )
                await bench.link.start(changed)
                run = await bench.ended(key)
                assert (run.code, run.reason) == (128, "StartError")
                assert "executable file not found" in run.message or "not permitted" in run.message

    asyncio.run(body())


@pytest.mark.rule("RUN-3")
def test_a_repeated_start_request_starts_once(directory):
    """By one agent many times, by two agents at once, and again after the end."""

    async def body():
        async with linked(directory) as one, linked(directory) as other:
            script = "echo x >> ran; sleep 0.1; exit 3"
            requests = [bench.link.start(one.order(script)) for bench in (one, other) for _ in range(10)]
            assert len({run.pid for run in await asyncio.gather(*requests)}) == 1
            key = RunKey("pod", "main", 0)
            assert (await one.ended(key)).code == (await other.ended(key)).code == 3
            assert (await one.link.start(one.order(script))).code == 3
            assert one.text("ran") == "x\n"
            await one.ended(await one.started(script, restart=1))
            assert one.text("ran") == "x\nx\n"

    asyncio.run(body())


@pytest.mark.rule("CAN-4")
def test_stopping_reaches_the_whole_group_and_waits_for_its_grace_period(directory):
    """A well-behaved program ends with its own exit code; its child gets SIGTERM, too."""

    async def body():
        async with linked(directory) as bench:
            script = "sh -c 'trap \"echo child >> told; exit\" TERM; while :; do sleep 0.02; done' & "
            key = await bench.started(
                script + "trap 'wait; exit 7' TERM; echo up > up; while :; do sleep 0.02; done"
            )
            await bench.until(lambda: bench.text("up"))
            await asyncio.sleep(0.1)
            bench.link.stop(key, 10)
            assert (await bench.ended(key)).code == 7
            assert bench.text("told") == "child\n"

    asyncio.run(body())


@pytest.mark.rule("CAN-4")
def test_a_group_that_ignores_sigterm_is_killed_after_its_grace_period(directory):
    """The group and a child in another session; a shorter grace period replaces a longer one."""

    async def body():
        async with linked(directory) as bench:
            script = "trap '' TERM; setsid sleep 100 & echo $! > stray; sleep 100 & echo $! > child; echo up > up; wait"
            key = await bench.started(script)
            await bench.until(lambda: bench.text("up"))
            began = time.monotonic()
            bench.link.stop(key, 60)
            bench.link.stop(key, 0.3)
            run = await bench.ended(key)
            assert run.code == 137
            assert 0.25 < time.monotonic() - began < 5
            for name in ("stray", "child"):
                await bench.until(lambda name=name: not is_alive(int(bench.text(name))))

    asyncio.run(body())


def test_a_container_ends_with_its_first_process(directory):
    """As in a container: remaining processes are ended and do not delay the end."""

    async def body():
        async with linked(directory) as bench:
            began = time.monotonic()
            run = await bench.ended(await bench.started("sleep 100 & echo $! > child; exit 0"))
            assert (run.code, time.monotonic() - began < 5) == (0, True)
            await bench.until(lambda: not is_alive(int(bench.text("child"))))

    asyncio.run(body())


@pytest.mark.rule("RUN-3")
def test_containers_outlive_the_agent_and_are_reported_to_the_next(directory):
    """One that ended without an agent, one that still runs; the output of that time is kept."""

    async def body():
        async with linked(directory) as bench:
            quick = await bench.started("sleep 0.2; echo between; exit 4", pod="quick")
            slow = await bench.started("while [ ! -e go ]; do sleep 0.02; done; exit 6", pod="slow")
        await asyncio.sleep(0.5)
        async with linked(directory) as bench:
            assert bench.link.runs_of("quick")[0].code == 4
            assert bench.log("quick") == [["stdout", "between"]]
            assert bench.link.runs_of("slow")[0].state == "running"
            (directory / "go").touch()
            assert (await bench.ended(slow)).code == 6
            assert quick.pod == "quick"

    asyncio.run(body())


def test_an_idle_supervisor_exits_and_the_next_one_knows_its_containers(directory):
    async def body():
        async with linked(directory) as bench:
            await bench.ended(await bench.started("exit 9"))
            pid = bench.link.pid
        for _ in range(600):
            if not is_alive(pid):
                break
            await asyncio.sleep(0.01)
        assert not is_alive(pid)
        async with linked(directory) as bench:
            assert bench.link.pid != pid
            assert bench.link.runs_of("pod")[0].code == 9
            bench.link.forget("pod")

    asyncio.run(body())


@pytest.mark.rule("RUN-3")
def test_containers_of_a_killed_supervisor_are_ended_and_never_run_again(directory):
    """The connection is restored; running containers are lost, with a reason; a second start is rejected."""

    async def body():
        async with linked(directory) as bench:
            done = await bench.started("exit 2", pod="done")
            await bench.ended(done)
            key = await bench.started("echo x >> ran; echo $$ > pid; sleep 100", pod="running")
            await bench.until(lambda: bench.text("pid"))
            os.kill(bench.link.pid, signal.SIGKILL)
            run = await bench.ended(key)
            assert (run.state, run.reason) == ("lost", "SupervisorLost")
            assert not is_alive(int(bench.text("pid")))
            assert (await bench.link.start(bench.order("echo x >> ran", pod="running"))).state == "lost"
            assert bench.text("ran") == "x\n"
            assert bench.link.runs_of("done")[0].code == 2

    asyncio.run(body())


@pytest.mark.rule("RUN-3")
def test_containers_from_before_a_reboot_are_lost(directory):
    """Another boot id in the records: no process of that time can still run."""

    async def body():
        async with linked(directory) as bench:
            key = await bench.started("sleep 100", pod="running")
            os.kill(bench.link.pid, signal.SIGSTOP)
            os.killpg(bench.link.runs_of("running")[0].pid, signal.SIGKILL)
            journal = directory / "supervisor" / "journal"
            journal.write_text(journal.read_text().replace(boot_id(), "another-boot"))
            os.kill(bench.link.pid, signal.SIGKILL)
            run = await bench.ended(key)
            assert (run.state, run.reason) == ("lost", "NodeRebooted")

    asyncio.run(body())


def test_volumes_are_mounted_at_their_paths_and_leave_nothing_on_the_machine(directory):
    """At a new path, at one below /dev, read-only, and a single file."""

    async def body():
        volume = directory / "volume"
        volume.mkdir()
        (volume / "file").write_text("content\n")
        target = f"/jangar-test-{os.getpid()}/deep"
        async with linked(directory) as bench:
            if not bench.link.namespaces:
                pytest.skip("this machine allows no mount namespaces")
            mounts = (
                Mount(source=str(volume), target=target),
                Mount(source=str(volume), target="/dev/jangar-test", read_only=True),
                Mount(source=str(volume / "file"), target="/jangar-test-file"),
            )
            script = (
                f"cat {target}/file /jangar-test-file; echo new > {target}/new; "
                "echo no > /dev/jangar-test/x || echo refused; echo to-null > /dev/null"
            )
            run = await bench.ended(await bench.started(script, mounts=mounts))
            assert run.code == 0
            texts = [text for stream, text in bench.log() if stream == "stdout"]
            assert texts == ["content", "content", "refused"]
            assert (volume / "new").read_text() == "new\n"
            for path in (target, "/dev/jangar-test", "/jangar-test-file"):
                assert not is_there(path)

    asyncio.run(body())


def test_a_lot_of_output_is_kept_in_order(directory):
    async def body():
        async with linked(directory) as bench:
            await bench.ended(
                await bench.started("i=0; while [ $i -lt 20000 ]; do echo line-$i; i=$((i+1)); done")
            )
            assert [text for _, text in bench.log()] == [f"line-{n}" for n in range(20000)]

    asyncio.run(body())


def test_a_long_directory_name_does_not_matter(directory):
    """A socket's name has at most about a hundred characters."""

    async def body():
        deep = directory / ("x" * 100) / ("y" * 100)
        async with linked(deep) as bench:
            assert (await bench.ended(await bench.started("exit 1"))).code == 1

    asyncio.run(body())
