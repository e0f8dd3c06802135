"""What is skipped and why: failed dependencies, conditions, fail-fast (DAG-5, DAG-6)."""

from dataclasses import replace

import pytest

from jangar.api.phases import StepPhase
from support.builders import a_definition, a_step, at
from support.run_driver import Driver

NO = "1 == 2"


def causes(run, name):
    return run.step(name).causes, run.step(name).causes_total


@pytest.mark.rule("DAG-5")
def test_skipping_is_transitive_within_one_pass():
    """DAG-5: at once, naming the nearest failed ancestor."""
    run = Driver(a_definition(a_step("a"), a_step("b", "a"), a_step("c", "b"), a_step("d", "c")))
    run.tick()
    run.child("a").fails("NonZeroExit")
    run.tick(1)
    assert run.steps == {
        "a": "Failed/NonZeroExit",
        "b": "Skipped/DependencyFailed",
        "c": "Skipped/DependencyFailed",
        "d": "Skipped/DependencyFailed",
    }
    assert causes(run, "d") == (("a",), 1)
    assert run.step("d").finished_at == at(1)
    assert run.step("d").last_transition_time == at(1)
    assert run.step("d").started_at is None
    assert run.phase == "Failed/StepFailed"


@pytest.mark.rule("DAG-5")
def test_a_step_is_skipped_though_others_of_its_dependencies_still_run():
    """DAG-5: one bad end is enough."""
    run = Driver(a_definition(a_step("a"), a_step("b"), a_step("c", "a", "b"), a_step("d", "c", "b")))
    run.tick()
    run.child("b").runs()
    run.child("a").fails()
    run.tick(1)
    assert run.steps == {
        "a": "Failed/ChildFailed",
        "b": "Running/Running",
        "c": "Skipped/DependencyFailed",
        "d": "Skipped/DependencyFailed",
    }
    assert run.phase == "Running/Running"
    assert run.condition("Degraded") == "True/StepFailed"


@pytest.mark.rule("DAG-5")
def test_a_list_stops_at_an_unforgiven_failure():
    """DAG-5: in Sequential mode all that follow are skipped."""
    run = Driver(a_definition(*(a_step(name, graph=False) for name in "abc")))
    run.tick()
    run.child("a").fails()
    run.tick(1)
    assert run.steps["b"] == run.steps["c"] == "Skipped/DependencyFailed"


@pytest.mark.rule("DAG-5")
def test_a_dependency_cancelled_by_hand_skips_like_a_failure():
    """DAG-5: was Cancelled."""
    run = Driver(a_definition(a_step("a"), a_step("b", "a")))
    run.tick()
    run.child("a").ends_cancelled()
    run.tick(1)
    assert run.steps == {"a": "Cancelled/ChildCancelled", "b": "Skipped/DependencyFailed"}
    assert causes(run, "b") == (("a",), 1)
    assert (run.phase, run.message) == (
        "Failed/StepFailed",
        "step a cancelled: ChildCancelled (the child was cancelled directly)",
    )


@pytest.mark.rule("DAG-5")
@pytest.mark.parametrize(
    ("count", "shown"), [pytest.param(10, 10, id="ten"), pytest.param(12, 10, id="twelve")]
)
def test_at_most_ten_causes_are_named_and_all_are_counted(count, shown):
    """DAG-5: at most 10 in list order, plus causesTotal; also for what is skipped through another."""
    names = [f"s{index:02}" for index in range(count)]
    run = Driver(a_definition(a_step("y", "z"), a_step("z", *reversed(names)), *map(a_step, names)))
    run.tick()
    for name in names:
        run.child(name).fails()
    run.tick(1)
    assert causes(run, "z") == causes(run, "y") == (tuple(names[:shown]), count)


@pytest.mark.rule("DAG-5")
def test_causes_are_the_nearest_failures_in_list_order():
    """DAG-5: a failure behind a failure is not named."""
    run = Driver(
        a_definition(
            a_step("a"),
            a_step("b", "a", **{"with": {"k": "{{ parameters.x }}"}}),
            a_step("c"),
            a_step("d", "c", "b"),
        )
    )
    run.tick()
    run.child("a").succeeds()
    run.child("c").fails()
    run.tick(1)
    assert run.steps["b"] == "Failed/MissingInput"
    assert causes(run, "d") == (("c",), 1), "b had not failed yet when c's failure skipped d"
    assert run.message == (
        "step b failed: MissingInput (parameters.x has no value and no default); step c failed: ChildFailed"
    )


@pytest.mark.rule("DAG-5")
def test_a_false_condition_skips_the_step_and_in_a_graph_all_that_depend_on_it():
    """DAG-5: ConditionFalse, then DependencySkipped, naming the step with the condition."""
    run = Driver(a_definition(a_step("a", when=NO), a_step("b", "a"), a_step("c", "b"), a_step("d")))
    run.tick()
    assert run.steps == {
        "a": "Skipped/ConditionFalse",
        "b": "Skipped/DependencySkipped",
        "c": "Skipped/DependencySkipped",
        "d": "Pending/Starting",
    }
    assert run.step("a").message == "when is false: 1 == 2"
    assert causes(run, "a") == ((), 0)
    assert causes(run, "c") == (("a",), 1)
    run.child("d").succeeds()
    run.tick(1)
    assert run.phase == "Succeeded/Succeeded"


@pytest.mark.rule("DAG-5")
def test_a_list_passes_over_a_false_condition():
    """DAG-5: in Sequential mode the next step runs, in the same pass."""
    run = Driver(
        a_definition(*(a_step(name, graph=False, when=NO if name != "c" else None) for name in "abcd"))
    )
    run.tick()
    assert run.steps == {
        "a": "Skipped/ConditionFalse",
        "b": "Skipped/ConditionFalse",
        "c": "Pending/Starting",
        "d": "Pending/",
    }
    run.child("c").fails()
    run.tick(1)
    assert run.steps["d"] == "Skipped/DependencyFailed"


@pytest.mark.rule("DAG-5")
def test_a_failure_wins_over_a_false_condition():
    """DAG-5: DependencyFailed wins, and only failures are causes."""
    run = Driver(
        a_definition(
            a_step("a", "r", when=NO), a_step("b", "r", when="nonsense"), a_step("c", "a", "b"), a_step("r")
        )
    )
    run.tick()
    run.child("r").succeeds()
    run.tick(1)
    assert run.steps == {
        "a": "Skipped/ConditionFalse",
        "b": "Failed/ConditionError",
        "c": "Skipped/DependencyFailed",
        "r": "Succeeded/Succeeded",
    }
    assert causes(run, "c") == (("b",), 1)


@pytest.mark.rule("DAG-5")
def test_a_condition_behind_a_failure_is_never_evaluated():
    """DAG-5: skipped for the failure, not for the condition."""
    run = Driver(
        a_definition(a_step("a"), a_step("b", "a"), a_step("w", "a", when=NO), a_step("c", "b", "w"))
    )
    run.tick()
    run.child("a").fails()
    run.tick(1)
    assert run.steps["w"] == run.steps["c"] == "Skipped/DependencyFailed"


@pytest.mark.rule("DAG-5")
def test_a_condition_is_evaluated_once_its_dependencies_are_met_and_not_before():
    """DAG-5: over what its dependencies returned."""
    when = "steps['a']['outputs']['go'] == 'yes'"
    run = Driver(a_definition(a_step("a"), a_step("b", "a", when=when)))
    run.tick()
    assert run.steps["b"] == "Pending/"
    run.child("a").succeeds(go="yes")
    run.tick(1)
    assert run.starts == ["b"]


@pytest.mark.rule("DAG-5")
def test_a_condition_without_an_answer_fails_its_step():
    """DAG-5: Failed/ConditionError; dependents are skipped for a failure."""
    run = Driver(a_definition(a_step("a", when="parameters['x']", retries=3), a_step("b", "a")))
    run.tick()
    assert run.steps == {"a": "Failed/ConditionError", "b": "Skipped/DependencyFailed"}
    assert run.step("a").message == "when: 'x'"
    assert run.step("a").attempt == 0


@pytest.mark.rule("DAG-6")
def test_branches_that_do_not_depend_on_a_failure_go_on():
    """DAG-6: they start new steps too."""
    run = Driver(a_definition(a_step("a"), a_step("b"), a_step("c", "b")))
    run.tick()
    run.child("a").fails()
    run.child("b").succeeds()
    run.tick(1)
    assert run.starts == ["c"]


@pytest.mark.rule("DAG-6")
def test_fail_fast_starts_nothing_after_the_first_unforgiven_failure():
    """DAG-6: Skipped/FailFast; dependents of the failure say DependencyFailed; running steps continue."""
    run = Driver(
        a_definition(
            a_step("a"),
            a_step("b"),
            a_step("c", "b"),
            a_step("d", "a"),
            a_step("e", "c"),
            policies={"failFast": True},
        )
    )
    run.tick()
    run.child("b").runs()
    run.child("a").fails()
    run.tick(1)
    assert run.steps == {
        "a": "Failed/ChildFailed",
        "b": "Running/Running",
        "c": "Skipped/FailFast",
        "d": "Skipped/DependencyFailed",
        "e": "Skipped/FailFast",
    }
    assert (run.step("c").message, run.step("c").causes) == ("", ())
    run.child("b").succeeds()
    run.tick(1)
    assert run.phase == "Failed/StepFailed"


@pytest.mark.rule("DAG-6")
def test_fail_fast_forgives_what_is_forgiven():
    """DAG-6: unforgiven failures only."""
    run = Driver(
        a_definition(
            a_step("a", continueOnFailure=True), a_step("b"), a_step("c", "b"), policies={"failFast": True}
        )
    )
    run.tick()
    run.child("a").fails()
    run.child("b").succeeds()
    run.tick(1)
    assert run.starts == ["c"]


@pytest.mark.rule("DAG-6")
def test_fail_fast_drops_what_waits_for_a_place():
    """DAG-6: ready is not started."""
    run = Driver(
        a_definition(a_step("a"), a_step("b"), a_step("c"), policies={"failFast": True, "maxParallel": 1})
    )
    run.tick()
    run.child("a").fails()
    run.tick(1)
    assert (run.actions, run.steps["b"], run.steps["c"]) == ((), "Skipped/FailFast", "Skipped/FailFast")


@pytest.mark.rule("DAG-6")
def test_fail_fast_acts_on_a_start_that_fails():
    """DAG-6: steps behind it are not started in the same pass."""
    broken = a_step("b", **{"with": {"k": "{{ parameters.x }}"}})
    run = Driver(a_definition(a_step("a"), broken, a_step("c"), policies={"failFast": True}))
    run.tick()
    assert run.steps == {"a": "Pending/Starting", "b": "Failed/MissingInput", "c": "Skipped/FailFast"}
    assert run.starts == ["a"]


@pytest.mark.rule("DAG-6")
def test_fail_fast_lets_a_step_that_has_started_retry():
    """DAG-6: it stops new starts of steps; one that has begun keeps its attempts."""
    run = Driver(
        a_definition(a_step("a"), a_step("b", retries=1), a_step("c", "b"), policies={"failFast": True})
    )
    run.tick()
    run.child("b").fails()
    run.tick(1)
    assert run.step("b").attempt == 2
    run.child("a").fails()
    run.child("b").succeeds()
    run.tick(1)
    assert run.steps["c"] == "Skipped/FailFast"


@pytest.mark.rule("DAG-6")
def test_without_fail_fast_nothing_is_dropped():
    """DAG-6: false by default."""
    run = Driver(a_definition(a_step("a"), a_step("b"), policies={"failFast": False, "maxParallel": 1}))
    run.tick()
    run.child("a").fails()
    run.tick(1)
    assert run.starts == ["b"]


@pytest.mark.rule("DAG-5")
@pytest.mark.parametrize(
    ("reason", "names", "expected"),
    [
        pytest.param(
            "DependencyFailed", ("b", "a"), ("Skipped/DependencyFailed", ("a", "b"), 2), id="failed"
        ),
        pytest.param("DependencySkipped", ("b",), ("Skipped/DependencySkipped", ("b",), 1), id="passed-over"),
        pytest.param("RunCancelled", (), ("Skipped/DependencySkipped", (), 0), id="without-causes"),
    ],
)
def test_a_step_skipped_long_ago_takes_its_causes_from_its_record(reason, names, expected):
    """DAG-5, DAG-14: pages are several objects, and one of them may be behind."""
    run = Driver(a_definition(a_step("a"), a_step("b"), a_step("c", "a", "b"), a_step("d", "c")))
    run.tick()
    recorded = list(run.record.steps)
    recorded[2] = replace(recorded[2], phase=StepPhase.SKIPPED, reason=reason, causes=names)
    run.record = replace(run.record, steps=tuple(recorded))
    run.tick(1)
    assert (run.steps["d"], *causes(run, "d")) == expected
