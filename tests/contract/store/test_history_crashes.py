"""kill -9 of the process that writes history at any moment."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from contract.store.history_rows import run
from contract.store.history_writer import numbered
from support.reliability_page import record_trials

TESTS = Path(__file__).parents[2]
KILLS = {"": 4, "all": 100}.get(os.environ.get("JANGAR_SIMULATION", ""), 4)
MAX_LENGTH = 0.25
"""Seconds that a writer runs after its first acknowledgement."""


def written_until_killed(url, first, rng):
    """The last batch that a writer acknowledged before it was killed."""
    command = [sys.executable, "-m", "contract.store.history_writer", url, str(first)]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as writer:
        output = writer.stdout.readline()
        time.sleep(rng.random() * MAX_LENGTH)
        writer.kill()
        output += writer.stdout.read()
    return int(output.splitlines()[-1])


@pytest.mark.rule("GC-6", "RUN-3")
def test_an_acknowledged_row_survives_kill_9(url, opened, record_property):
    """Every acknowledged row is complete with its steps and log; and the next writer continues at once."""
    rng = random.Random(7)  # noqa: S311
    reached, failures = 0, 0
    for _ in range(KILLS):
        reached = written_until_killed(url, reached, rng)

    async def wrong():
        history = opened(read_only=True)
        problems = []
        for number in range(reached):
            row = numbered(number)
            stored = await history.run(row.run.uid)
            steps = tuple(await history.steps(row.run.uid))
            if (stored, steps, await history.log_tail(row.run.uid)) != (row.run, row.steps, row.log_tail):
                problems.append(number)
        await history.close()
        return problems

    failures = run(wrong(), seconds=300)
    record_trials(
        record_property,
        row="19: history, the writer killed",
        bed="P",
        seeds=range(KILLS),
        failures=len(failures),
    )
    assert failures == []
    assert reached >= KILLS
