"""DAG-9: a million easily confused names (a fifth of them outside `make prove`), and no two alike."""

from itertools import product

import pytest

from jangar.domain.orchestration.child_names import child_name
from support.proving import FULL

UIDS = ("u", "u1", "u-1", "u:1", "1:u")
ATTEMPTS = range(1, 41 if FULL else 9)
PAIRS = 25_000 * len(ATTEMPTS)


def adversarial_steps():
    """5,000 names that a careless slug, cut or separator would confuse."""
    letters = ("a", "A", "-", "_", "1")
    short = ["".join(parts) for length in range(1, 6) for parts in product(letters, repeat=length)]
    long = [f"{'x' * 55}{'-_'[number % 2]}{number}" for number in range(5000 - len(short))]
    return [*short, *long]


@pytest.mark.rule("DAG-9")
def test_a_million_attempts_have_a_million_names():
    """DAG-9: names differ whenever uid, step or attempt differ."""
    steps = adversarial_steps()
    assert len(set(steps)) == len(steps)
    names = {child_name("r", uid, step, attempt) for uid, step, attempt in product(UIDS, steps, ATTEMPTS)}
    assert len(names) == len(UIDS) * len(steps) * len(ATTEMPTS) == PAIRS
