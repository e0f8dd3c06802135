"""Resource shortages for a limited time: disk, descriptors, processes, memory, a changed clock."""

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import jangar

USER = 54_322
"""A uid without a user on any machine: the process limit counts per user."""
MEMORY_V1 = Path("/sys/fs/cgroup/memory")
MEMORY_V2 = Path("/sys/fs/cgroup")
HOG = "import time, sys\nheld = []\nwhile True:\n    held.append(bytearray(4 << 20))\n    time.sleep(0.01)\n"
FORKS = """
import os, signal, sys, time
held = []
while len(held) < 100000:
    try:
        pid = os.fork()
    except OSError:
        break
    if pid == 0:
        signal.pause()
    held.append(pid)
print("full", flush=True)
sys.stdin.read()
for pid in held:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
"""


@contextmanager
def small_disk(path: Path, megabytes: int) -> Iterator[None]:
    """A file system of that size."""
    if os.geteuid() != 0:
        pytest.skip("a small file system needs root")
    path.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "tmpfs", path],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", path], check=False)


@contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """Fill the file system of a directory completely while the block runs."""
    filler = path / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 65_536)
    with filler.open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x")
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def idle_connections(port: int, count: int) -> Iterator[None]:
    """Idle connections of another client."""
    held = []
    try:
        held += [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(count)]
        yield
    finally:
        for item in held:
            item.close()


def as_user(processes: int) -> tuple[str, ...]:
    """The command prefix that starts a program as a user with a process limit and read access to the interpreter."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("a process limit needs root, another user and setpriv: root has no limit")
    user = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups")
    if subprocess.run([*user, "test", "-r", jangar.__file__], check=False).returncode:
        # access(2) ignores capabilities, and Alembic uses it for its scripts.
        pytest.skip(
            f"user {USER} cannot read {jangar.__file__}: run the tests in a directory that every user can read"
        )
    reading = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    return (*user, *reading, "prlimit", f"--nproc={processes}")


@contextmanager
def no_processes(prefix: tuple[str, ...]) -> Iterator[None]:
    """Use up the process limit of the user."""
    with subprocess.Popen(
        [*prefix, sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as hog:
        assert hog.stdout is not None
        assert hog.stdout.readline() == "full\n"
        try:
            yield
        finally:
            hog.communicate(timeout=60)


def end_all_of(user: int) -> None:
    """Kill the processes of a test."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            if entry.name.isdecimal() and entry.stat().st_uid == user:
                os.kill(int(entry.name), signal.SIGKILL)


@contextmanager
def memory_cgroup(name: str, megabytes: int) -> Iterator[Path]:
    """A cgroup with a memory limit."""
    is_v1 = (MEMORY_V1 / "memory.limit_in_bytes").exists()
    group = (MEMORY_V1 if is_v1 else MEMORY_V2) / name
    limit = group / ("memory.limit_in_bytes" if is_v1 else "memory.max")
    try:
        group.mkdir()
        limit.write_text(str(megabytes << 20))
    except OSError as error:
        with suppress(OSError):
            group.rmdir()
        pytest.skip(f"no memory cgroup can be made here: {error}")
    try:
        yield group
    finally:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            for pid in (group / "cgroup.procs").read_text().split():
                with suppress(OSError):
                    os.kill(int(pid), signal.SIGKILL)
            with suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.1)


def memory_spike(group: Path) -> None:
    """A process of the group allocates all memory and is the one that the kernel kills."""
    script = f"echo 1000 > /proc/self/oom_score_adj; echo $$ > {group}/cgroup.procs; exec {sys.executable} -c '{HOG}'"
    subprocess.run(["sh", "-c", script], capture_output=True, timeout=120, check=False)


def movable_clock(directory: Path) -> tuple[Path, dict[str, str]]:
    """A file whose seconds shift the wall clock of a process, and the environment that such a process needs."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("a clock that can be moved needs Linux and a C compiler")
    library = directory / "wall_clock.so"
    source = Path(__file__).with_name("wall_clock.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    file = directory / "clock"
    file.write_bytes(struct.pack("=q", 0))
    return file, {"LD_PRELOAD": str(library), "TEST_WALL_CLOCK": str(file)}


def move_clock(file: Path, seconds: int) -> None:
    with file.open("r+b") as opened:
        opened.write(struct.pack("=q", seconds))
