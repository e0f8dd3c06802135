import pytest
from golden_cases import placed, recorded

from picokube.schema import CompiledSchema, admit, check, structural_problems

OBJECTS = recorded("objects")
RULES = recorded("rules")
SCHEMAS = recorded("schemas")


def by_number(cases):
    return [pytest.param(case, id=str(n)) for n, case in enumerate(cases)]


@pytest.mark.parametrize("case", by_number(OBJECTS))
def test_an_object_is_admitted_and_judged_as_by_kube_apiserver(case):
    """Pruning, nulls, defaults, unknown fields and every error, with its reason and its words."""
    schema = CompiledSchema.of(case["schema"])
    admitted, unknown = admit(schema, case["object"])
    old = admit(schema, case["old"])[0] if "old" in case else None
    errors = sorted([error.type.value, error.message] for error in check(schema, admitted, old=old))
    assert admitted == case["admitted"]
    assert [item.field for item in unknown] == case["unknown"]
    assert errors == case["errors"]


@pytest.mark.parametrize("case", by_number(RULES["cases"]))
def test_rules_speak_as_in_kube_apiserver(case):
    """Failed rules, failed evaluations, transition rules and ratcheting."""
    schema = CompiledSchema.of(placed(RULES["schema"], case["where"], case["rules"]))
    thing = {"apiVersion": "e/v1", "kind": "T", "metadata": {"name": "x"}}
    obj = {**thing, "spec": case.get("spec", RULES["spec"])}
    old = {**thing, "spec": case["old"]} if "old" in case else None
    assert (
        sorted([error.type.value, error.message] for error in check(schema, obj, old=old)) == case["errors"]
    )


@pytest.mark.parametrize("case", by_number(RULES["cases"]))
def test_rules_that_cannot_work_are_refused_with_the_schema(case):
    """Rules that do not compile, cost too much, or look for an old value where there is none."""
    schema = placed(RULES["schema"], case["where"], case["rules"])
    problems = sorted(problem.message for problem in structural_problems(schema))
    assert problems == case["problems"]


@pytest.mark.parametrize("case", by_number(SCHEMAS))
def test_a_schema_is_judged_as_by_kube_apiserver(case):
    """Structure, keywords, list types, defaults and rules of a schema."""
    assert sorted(problem.message for problem in structural_problems(case["schema"])) == case["problems"]
