import pytest
from golden_cases import recorded

from picokube.schema import structural_problems
from picokube.schema.cel.costs import max_cost
from picokube.schema.cel.declarations import declare
from picokube.schema.cel.program import parse
from picokube.schema.cel.rules import CompiledRule, check_expression
from picokube.schema.cel.syntax_tree import decode_tree, serialize
from picokube.schema.cel.transforms import expand_macros
from picokube.schema.node import Node, Rule

TYPED = recorded("typed_rules")
NODE = Node.of(TYPED["schema"])
ABOUT = declare(NODE, root=False)
RULES = [pytest.param(item, id=str(n)) for n, item in enumerate(TYPED["rules"])]


@pytest.mark.parametrize("case", RULES)
def test_a_rule_is_understood_as_by_kube_apiserver(case):
    """With the types of its schema: what is wrong with it, word by word, or what it costs at most."""
    found = check_expression(Rule(rule=case["rule"]), case["rule"], ABOUT, result_type="bool")
    expected = case.get("error", case.get("cost"))
    assert (found if isinstance(found, str) else max_cost(found, ABOUT)) == expected


@pytest.mark.parametrize("case", [rule for rule in RULES if "cost" in rule.values[0]])
def test_a_tree_survives_being_written_and_read(case):
    """What the library is given is what was checked; only the places in the source are lost."""
    tree = expand_macros(parse(case["rule"]))
    assert serialize(decode_tree(serialize(tree))) == serialize(tree)


@pytest.mark.parametrize(
    "rule", ["format.named('uri').hasValue()", "format.uri().validate(self.s).hasValue()"]
)
def test_what_cannot_be_run_here_is_refused(rule):
    """A rule about named formats is well typed, but nothing here could evaluate it."""
    compiled = CompiledRule.of(Rule(rule=rule), NODE, ABOUT)
    assert compiled.program is None
    assert "undeclared reference to 'format" in compiled.error.replace("'named", "'format").replace(
        "'uri", "'format"
    )


def spec(**properties):
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def test_a_rule_that_costs_too_much_is_refused():
    """By itself, and with all others together; and the largest ones are named."""
    rule = {"x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x != y))"}]}
    problems = structural_problems(spec(a={"type": "array", "items": {"type": "string"}, **rule}))
    assert [problem.field.rpartition("openAPIV3Schema")[2] for problem in problems] == [
        ".properties[spec].properties[a].x-kubernetes-validations[0].rule",
        ".properties[spec].properties[a].x-kubernetes-validations[0].rule",
        "",
    ]
    assert all("more than 100x" in problem.detail or "contributed" in problem.detail for problem in problems)


@pytest.mark.parametrize(
    ("most", "factors"),
    [
        (100, []),
        (1300, ["1.014650x"]),
        (2000, ["2.4x"]),
        (5000, ["15.0x", "1.5x"]),
        (20000, ["more than 100x", "24.0x"]),
    ],
)
def test_a_limit_on_the_list_makes_a_rule_affordable(most, factors):
    """The messages say by how much the budgets are exceeded: that of the rule, and that of all."""
    items = {"type": "string", "maxLength": 2}
    rule = {"x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x != y))"}]}
    problems = structural_problems(spec(a={"type": "array", "maxItems": most, "items": items, **rule}))
    found = [problem.detail.partition("factor of ")[2].partition(" (")[0] for problem in problems]
    assert [item for item in found if item] == factors


@pytest.mark.parametrize("node", [{"x-kubernetes-preserve-unknown-fields": True}])
def test_rules_about_values_without_a_type_are_refused(node):
    """CEL does not see them."""
    problems = structural_problems(spec(a={**node, "x-kubernetes-validations": [{"rule": "true"}]}))
    assert "unable to convert structural schema to CEL declarations" in problems[0].message
