"""Server-side apply field by field: after random writes by several managers both servers hold the same object with
the same owners.

Recorded sequences run on the embedded server only. With the binaries of `make envtest` new ones run on both: a sample
within half a minute, or JANGAR_SSA_STEPS=3000 writes (JANGAR_SSA_SEED is the first seed). Repeat one sequence with
JANGAR_SSA_REPLAY=file.json, which contains the output of a failure.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.kubernetes_api.ssa_sequences import RECORDED, Sequence, a_sequence, as_json, play, smallest

pytestmark = pytest.mark.conformance

STEPS = int(os.environ.get("JANGAR_SSA_STEPS", "400"))
SECONDS = 30.0 if "JANGAR_SSA_STEPS" not in os.environ else 1800.0
FIRST = int(os.environ.get("JANGAR_SSA_SEED", "1"))


@pytest.mark.parametrize(
    "row",
    json.loads(RECORDED.read_text()),
    ids=lambda row: f"{row['sequence']['kind']}-{row['sequence']['seed']}",
)
def test_recorded_writes_produce_the_objects_and_owners_of_the_real_server(row, embedded_server):
    """The same writes have the outcomes that `make transcripts` recorded."""
    outcomes = [as_json(outcome) for outcome in play(row["sequence"], embedded_server)]
    if difference := _first(row["sequence"], outcomes, row["outcomes"]):
        pytest.fail(difference, pytrace=False)


def test_random_writes_produce_equal_objects_with_equal_owners(embedded_server, real_server):
    """Value, ownership, generation and errors are equal after every write."""

    def difference(sequence: Sequence) -> str | None:
        ours, theirs = (
            [as_json(item) for item in play(sequence, on)] for on in (embedded_server, real_server)
        )
        return _first(sequence, ours, theirs)

    steps, began = 0, time.monotonic()
    for sequence in _sequences():
        if steps >= STEPS or time.monotonic() - began > SECONDS:
            break
        if difference(sequence):
            short = smallest(sequence, difference)
            pytest.fail(
                f"after {steps} equal writes: {difference(short)}\n"
                f"replay with JANGAR_SSA_REPLAY=FILE, FILE holding:\n{json.dumps(short)}",
                pytrace=False,
            )
        steps += len(sequence["writes"])
    assert steps > 0


def test_the_real_server_agrees_with_itself(real_server):
    """Otherwise a difference would say nothing about the embedded server."""
    for seed in range(FIRST, FIRST + 10):
        sequence = a_sequence(seed)
        assert play(sequence, real_server) == play(sequence, real_server)


def _sequences() -> Iterator[Sequence]:
    if path := os.environ.get("JANGAR_SSA_REPLAY"):
        yield json.loads(Path(path).read_text())
        return
    seed = FIRST
    while True:
        yield a_sequence(seed)
        seed += 1


def _first(sequence: Sequence, ours: list[dict], real: list[dict]) -> str | None:
    for n, (mine, theirs) in enumerate(zip(ours, real, strict=True), start=1):
        for name in mine:
            one, two = (json.dumps(item[name], sort_keys=True) for item in (mine, theirs))
            if one != two and not (name == "changed" and _rewrites(sequence, real, n)):
                write = json.dumps(sequence["writes"][n - 1])
                return f"seed {sequence['seed']}, write {n} {write}: {name}\n  real: {two}\n  ours: {one}"
    return None


def _rewrites(sequence: Sequence, real: list[dict], n: int) -> bool:
    """Whether the real server rewrote an object without a visible change.

    It stores some nulls and empty maps that it never shows: labels and annotations of an applied custom resource,
    bytes of a built-in one. The next write without changes drops them and therefore counts as a change.
    """
    before = [at for at in range(n - 1) if real[at]["status"] < 300]
    if not before or not real[n - 1]["changed"]:
        return False
    write, last, now = sequence["writes"][before[-1]], real[before[-1]], real[n - 1]
    applies = sequence["kind"] == "Widget" and write["verb"] in ("apply", "force")
    leaves_some = applies or "null" in json.dumps(write["body"])
    return leaves_some and (last["value"], last["owners"]) == (now["value"], now["owners"])
