"""What a run returns to its parent (DAG-11)."""

import pytest

from jangar.api.phases import Phase, StepPhase
from jangar.domain.orchestration.planning.initial import initial_states
from jangar.domain.orchestration.planning.outcome import Verdict, run_outputs
from jangar.domain.orchestration.scope import Scope
from support.builders import NOON, a_definition, a_step

SUCCESS = Verdict(phase=Phase.SUCCEEDED, reason="Succeeded", message="fine")


def returned(outputs, **given):
    definition = a_definition(
        a_step("a"), outputs=[{"name": name, "value": value} for name, value in outputs.items()]
    )
    states = initial_states(definition, {"a": {"image": "nginx"}}, NOON)
    assert states[0].phase is StepPhase.SUCCEEDED
    return run_outputs(definition, Scope(definition, given, states), SUCCESS)


@pytest.mark.rule("DAG-11")
@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        pytest.param({}, None, id="declares-none"),
        pytest.param({"i": "{{ steps.a.outputs.image }}:1"}, {"i": "nginx:1"}, id="filled-in"),
        pytest.param({"i": "{{ steps.a.outputs.tag }}"}, None, id="nothing-answers"),
        pytest.param({"i": "x", "t": "{{ steps.a.outputs.tag }}"}, {"i": "x"}, id="only-the-answered"),
        pytest.param({"i": "{{ parameters.p }}"}, {"i": "q"}, id="parameters"),
    ],
)
def test_outputs_are_rendered_and_a_missing_one_is_absent(outputs, expected):
    """DAG-11: spec.outputs says what a nested run returns; a step that needs a missing one says so."""
    assert returned(outputs, p="q") == (SUCCESS, expected)


@pytest.mark.rule("DAG-11")
@pytest.mark.parametrize(
    ("text", "size"),
    [pytest.param("x" * 4088, 4096, id="plain"), pytest.param("ä" * 2044, 4096, id="counted-in-bytes")],
)
def test_exactly_4096_bytes_are_kept(text, size):
    """DAG-11: at most 4,096 bytes of compact JSON, text beyond ASCII not escaped."""
    assert size == len(b'{"i":""}') + len(text.encode())
    assert returned({"i": text}) == (SUCCESS, {"i": text})


@pytest.mark.rule("DAG-11")
def test_one_byte_more_fails_the_run():
    """DAG-11: Failed/OutputsTooLarge, and nothing is returned."""
    assert returned({"i": "x" * 2000, "j": "x" * 2083}) == (
        Verdict(
            phase=Phase.FAILED,
            reason="OutputsTooLarge",
            message="the outputs of the run are 4098 bytes; at most 4096 are allowed",
        ),
        None,
    )
    assert (
        returned({"i": "x" * 4089})[0].message
        == "the outputs of the run are 4097 bytes; at most 4096 are allowed"
    )
