"""The bridge from CEL to the domain's conditions."""

import pytest

from jangar.lint.conditions import compile_when


@pytest.mark.rule("DAG-5")
def test_a_condition_that_has_no_value_fails_as_the_domain_expects():
    """The planner turns a ValueError into ConditionError; any other error would keep the run from ever going on."""
    condition = compile_when("steps.build.outputs.image == 'x'")
    with pytest.raises(ValueError, match="no such key"):
        condition.evaluate({"parameters": {}, "steps": {"build": {"outputs": {}}}})
    assert condition.references("steps") == {"build"}
