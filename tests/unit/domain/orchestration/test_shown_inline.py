"""What the status of a run with pages shows all the same."""

import pytest

from jangar.domain.orchestration.status_document import MAX_INLINE, shown_inline


def a_step(number, phase, **more):
    return {"name": f"s{number}", "phase": phase, **more}


@pytest.mark.rule("DAG-14")
def test_active_and_failed_steps_are_shown_in_their_order():
    """What works, what waits to be tried again and what ended badly; not what is to come or went well."""
    steps = [
        a_step(0, "Succeeded"),
        a_step(1, "Failed"),
        a_step(2, "Running"),
        a_step(3, "Pending"),
        a_step(4, "Pending", attempt=1),
        a_step(5, "Cancelled"),
        a_step(6, "Retrying"),
        a_step(7, "Skipped"),
    ]
    inline, omitted = shown_inline(steps)
    assert [item["name"] for item in inline] == ["s1", "s2", "s4", "s5", "s6"]
    assert omitted == 0


@pytest.mark.rule("DAG-14")
def test_active_steps_come_before_failed_ones_where_room_is_short():
    """What is left out is counted."""
    steps = [a_step(n, "Failed") for n in range(MAX_INLINE)] + [a_step(n, "Running") for n in range(500, 510)]
    inline, omitted = shown_inline(steps)
    assert len(inline) == MAX_INLINE
    assert [item["name"] for item in inline[-10:]] == [f"s{n}" for n in range(500, 510)]
    assert omitted == 10
