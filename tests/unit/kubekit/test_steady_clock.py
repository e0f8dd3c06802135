"""The clock of a process, while the machine's clock is changed."""

from datetime import UTC, datetime, timedelta

import pytest

from kubekit.steady_clock import SETTLED_SECONDS, SteadyClock

START = datetime(2026, 1, 2, tzinfo=UTC)
YEAR = timedelta(days=365)


class Machine:
    """Its two clocks: one goes, the other one is set as well."""

    def __init__(self):
        self.passed = 0.0
        self.set_by = timedelta()

    def wall(self):
        return START + timedelta(seconds=self.passed) + self.set_by

    def steady(self):
        return self.passed


def checked(clock, machine, seconds):
    """How often the clock was found to be set, looked at every second."""
    found = 0
    for _ in range(seconds):
        machine.passed += 1.0
        found += clock.follow()
    return found


@pytest.mark.parametrize("jump", [-YEAR, YEAR, timedelta(seconds=-3)])
def test_a_clock_that_is_set_for_a_moment_moves_no_deadline(jump):
    """E15: if the clock is set back or forward and corrected within seconds, callers see no jump."""
    machine = Machine()
    clock = SteadyClock(machine.wall, machine.steady)
    checked(clock, machine, 3)
    machine.set_by = jump
    assert clock.now() == START + timedelta(seconds=3), "not even between two looks"
    assert checked(clock, machine, 3) == 0
    machine.set_by = timedelta()
    assert checked(clock, machine, 10) == 0
    assert clock.now() == START + timedelta(seconds=16)


@pytest.mark.parametrize("jump", [-YEAR, YEAR])
def test_a_clock_that_stays_where_it_was_set_is_followed_once(jump):
    machine = Machine()
    clock = SteadyClock(machine.wall, machine.steady)
    machine.set_by = jump
    assert checked(clock, machine, int(SETTLED_SECONDS)) == 0
    assert checked(clock, machine, 10) == 1
    assert clock.now() == machine.wall()


def test_a_clock_that_is_set_again_and_again_is_not_followed():
    machine = Machine()
    clock = SteadyClock(machine.wall, machine.steady)
    for day in range(20):
        machine.set_by = timedelta(days=day if day % 2 else -day)
        assert checked(clock, machine, 2) == 0
    assert clock.now() == START + timedelta(seconds=40)


def test_small_corrections_are_followed_at_once():
    machine = Machine()
    clock = SteadyClock(machine.wall, machine.steady)
    machine.set_by = timedelta(milliseconds=300)
    assert checked(clock, machine, 1) == 0
    assert clock.now() == machine.wall()
