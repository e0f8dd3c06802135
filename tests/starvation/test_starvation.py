"""E4, E5, E15: a machine that runs out of a resource loses no step, repeats none, and records none wrongly.

Every trial is a run of 60 steps with `jangar up`, on real resources that are used up and released while it is active.
Nothing is restarted. `JANGAR_SIMULATION=all` runs as many trials as the matrix names; otherwise a small one for some
of them.
"""

import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from starvation.shortages import (
    USER,
    as_user,
    end_all_of,
    full_disk,
    idle_connections,
    memory_cgroup,
    memory_spike,
    movable_clock,
    move_clock,
    no_processes,
    small_disk,
)
from starvation.starved_laptop import WITHOUT_FORK, StarvedLaptop, wrongs
from support.proving import FULL
from support.reliability_page import record_trials

pytestmark = pytest.mark.xdist_group("laptop")

TRIALS = int(os.environ.get("JANGAR_STARVATION_TRIALS", "20" if FULL else "1"))
STEPS = 60 if FULL else 12
SHORTAGE_SECONDS = 4.0 if FULL else 1.0
JUMPS = (-400 * 86_400, 400 * 86_400, -3600, 3600)
"""Seconds by which the clock is changed."""
full_only = pytest.mark.skipif(not FULL, reason="runs with JANGAR_SIMULATION=all")

Bed = Callable[[Path, ExitStack], StarvedLaptop]
Trouble = Callable[[StarvedLaptop, random.Random], None]


@contextmanager
def directories() -> Iterator[tuple[Path, Path]]:
    """A home directory, and a ledger directory that the steps can write to as any user."""
    with tempfile.TemporaryDirectory(prefix="jangar-starved-", dir="/var/tmp") as name:
        root = Path(name)
        root.chmod(0o755)
        (root / "home").mkdir()
        (root / "shared").mkdir()
        (root / "shared").chmod(0o777)
        yield root / "home", root / "shared" / "ledger"


def play(record_property, row: str, bed: Bed, trouble: Trouble) -> None:
    """Run every trial; fail with the problems of the first failing one."""
    failed: dict[int, list[str]] = {}
    for seed in range(TRIALS):
        problems = trial(seed, bed, trouble)
        if problems:
            failed[seed] = problems
    record_trials(record_property, row=row, bed="P", seeds=range(TRIALS), failures=len(failed))
    assert not failed, json.dumps(failed, indent=1)


def trial(seed: int, bed: Bed, trouble: Trouble) -> list[str]:
    with directories() as (home, ledger), ExitStack() as made:
        made.enter_context(_ledger_of(home, ledger))
        laptop = bed(home, made)
        made.callback(laptop.end)
        laptop.start("--data-dir", str(laptop.data))
        laptop.connect()
        laptop.submit("starved", STEPS, seed)
        trouble(laptop, random.Random(seed))  # noqa: S311 - a trial that can be repeated
        run = laptop.outcome("starved")
        return wrongs(run, ledger, STEPS)


@contextmanager
def _ledger_of(home: Path, ledger: Path) -> Iterator[None]:
    _LEDGERS[home] = ledger
    yield
    del _LEDGERS[home]


_LEDGERS: dict[Path, Path] = {}


def await_steps(laptop: StarvedLaptop, steps: int) -> None:
    """Wait until this many steps have ended, or the run has: then some of them failed, and the trial reports which."""
    laptop.until(lambda: laptop.ended() >= steps or laptop.has_ended("starved"), seconds=240)


def test_a_full_disk_loses_no_step(record_property):
    """E4: ends that could not be written are recorded once there is space."""

    def bed(home: Path, made: ExitStack) -> StarvedLaptop:
        laptop = StarvedLaptop(home, _LEDGERS[home])
        made.enter_context(small_disk(laptop.data, 64))
        return laptop

    def trouble(laptop: StarvedLaptop, rng: random.Random) -> None:
        for steps in sorted(rng.sample(range(STEPS // 2), 2 if FULL else 1)):
            await_steps(laptop, steps)
            with full_disk(laptop.data):
                time.sleep(SHORTAGE_SECONDS)
                status, answer = laptop.request(
                    "POST",
                    "/api/v1/namespaces/default/configmaps",
                    {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "metadata": {"generateName": "a-"},
                        "data": {"a": "b" * 9000},
                    },
                )
                if status != 201:
                    assert (status, answer["reason"]) == (429, "InsufficientStorage"), answer
                    assert "no space left on device" in answer["message"]
                assert laptop.request("GET", "/api/v1/namespaces")[0] == 200, "reads continue"

    play(record_property, "starvation: full disk", bed, trouble)


@pytest.mark.parametrize(
    "descriptors", [256, pytest.param(512, marks=full_only), pytest.param(1024, marks=full_only)]
)
def test_few_descriptors_lose_no_step(record_property, descriptors):
    """E4, E5: other clients' connections beyond the limit end no process and no run."""

    def bed(home: Path, _: ExitStack) -> StarvedLaptop:
        return StarvedLaptop(home, _LEDGERS[home], ("prlimit", f"--nofile={descriptors}:{descriptors}"))

    def trouble(laptop: StarvedLaptop, _: random.Random) -> None:
        await_steps(laptop, 1)
        known = json.loads((laptop.data / "laptop.json").read_text())
        with ExitStack() as held:
            for address in (known["server"], known["url"]):
                held.enter_context(idle_connections(int(address.rpartition(":")[2]), descriptors))
            await_steps(laptop, STEPS // 3)

    play(record_property, f"starvation: {descriptors} descriptors", bed, trouble)


@full_only
def test_a_process_limit_loses_no_step(record_property):
    """E4: steps that cannot be started wait, and start when processes are available."""
    prefix = as_user(150)

    def bed(home: Path, made: ExitStack) -> StarvedLaptop:
        os.chown(home, USER, USER)
        made.callback(end_all_of, USER)
        laptop = StarvedLaptop(home, _LEDGERS[home], prefix)
        laptop.step_command = ["python3", "-ISc", WITHOUT_FORK]
        return laptop

    def trouble(laptop: StarvedLaptop, rng: random.Random) -> None:
        for steps in sorted(rng.sample(range(STEPS // 2), 2)):
            await_steps(laptop, steps)
            with no_processes(prefix):
                time.sleep(SHORTAGE_SECONDS)

    play(record_property, "starvation: processes", bed, trouble)


@full_only
def test_memory_pressure_loses_no_step(record_property):
    """E4: the process that uses the memory is killed, and the work continues."""

    def bed(home: Path, made: ExitStack) -> StarvedLaptop:
        group = made.enter_context(memory_cgroup(f"jangar-starved-{os.getpid()}", 700))
        prefix = ("sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh")
        laptop = StarvedLaptop(home, _LEDGERS[home], prefix)
        laptop.group = group
        return laptop

    def trouble(laptop: StarvedLaptop, rng: random.Random) -> None:
        for steps in sorted(rng.sample(range(STEPS // 2), 3)):
            await_steps(laptop, steps)
            memory_spike(laptop.group)

    play(record_property, "starvation: memory", bed, trouble)


def test_a_clock_jump_loses_no_step(record_property):
    """E15: neither a year back nor a year forward ends a step early or lets it wait forever."""

    def bed(home: Path, _: ExitStack) -> StarvedLaptop:
        clock, environment = movable_clock(home.parent)
        laptop = StarvedLaptop(home, _LEDGERS[home], **environment)
        laptop.clock = clock
        return laptop

    def trouble(laptop: StarvedLaptop, rng: random.Random) -> None:
        for steps in sorted(rng.sample(range(STEPS // 2), 2)):
            await_steps(laptop, steps)
            for jump in rng.sample(JUMPS, 2):
                move_clock(laptop.clock, jump)
                time.sleep(SHORTAGE_SECONDS / 4)
                move_clock(laptop.clock, 0)

    play(record_property, "starvation: clock", bed, trouble)
