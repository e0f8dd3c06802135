"""Server-side apply, field by field: after random writes by several managers both servers hold the same object, owned
by the same managers.

By default a sample within half a minute. The full run: JANGAR_SSA_STEPS=3000. One sequence again:
JANGAR_SSA_REPLAY=file.json, with what a failure printed.
"""

import json
import os
import time
from pathlib import Path

import pytest

from contract.kubernetes_api.ssa_sequences import Sequence, a_sequence, play, smallest
from support.envtest import missing_parts

pytestmark = pytest.mark.conformance

STEPS = int(os.environ.get("JANGAR_SSA_STEPS", "400"))
SECONDS = 30.0 if "JANGAR_SSA_STEPS" not in os.environ else 1800.0
FIRST = int(os.environ.get("JANGAR_SSA_SEED", "1"))
WITH_BOTH = [] if missing_parts() else ["real"]


@pytest.mark.parametrize("oracle", WITH_BOTH)
def test_random_writes_leave_equal_objects_with_equal_owners(oracle, embedded_server, real_server):
    """Value, ownership, generation and refusals are equal after every write."""

    def disagrees(sequence: Sequence) -> bool:
        return _first_difference(sequence, embedded_server, real_server) is not None

    steps, seed, began = 0, FIRST, time.monotonic()
    for sequence in _sequences():
        if steps >= STEPS or time.monotonic() - began > SECONDS:
            break
        if disagrees(sequence):
            short = smallest(sequence, disagrees)
            pytest.fail(
                f"after {steps} equal steps, seed {seed}: {_first_difference(short, embedded_server, real_server)}\n"
                f"replay with JANGAR_SSA_REPLAY=FILE, FILE holding:\n{json.dumps(short)}"
            )
        steps, seed = steps + len(sequence["writes"]), seed + 1
    assert steps > 0


@pytest.mark.parametrize("oracle", WITH_BOTH)
def test_the_real_server_agrees_with_itself(oracle, real_server):
    """Else a difference would say nothing about ours."""
    for seed in range(FIRST, FIRST + 10):
        sequence = a_sequence(seed)
        assert [one.text() for one in play(sequence, real_server)] == [
            two.text() for two in play(sequence, real_server)
        ]


def _sequences():
    if path := os.environ.get("JANGAR_SSA_REPLAY"):
        yield json.loads(Path(path).read_text())
        return
    seed = FIRST
    while True:
        yield a_sequence(seed)
        seed += 1


def _first_difference(sequence: Sequence, ours, real) -> str | None:
    for n, (mine, theirs) in enumerate(zip(play(sequence, ours), play(sequence, real), strict=True), start=1):
        for name in ("status", "message", "changed", "value", "owners"):
            one, two = (json.dumps(getattr(each, name), sort_keys=True) for each in (mine, theirs))
            if one != two:
                write = json.dumps(sequence["writes"][n - 1])
                return f"write {n} {write}: {name}\n  real: {two}\n  ours: {one}"
    return None
