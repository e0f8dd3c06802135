import pytest

from picokube.schema import CompiledSchema, check, structural_problems


def ruled(rule, *, properties=None, **rest):
    rules = [rule if isinstance(rule, dict) else {"rule": rule}]
    spec = {"type": "object", "properties": properties or {"n": {"type": "integer"}}, **rest}
    return {"type": "object", "properties": {"spec": {**spec, "x-kubernetes-validations": rules}}}


def rule_errors(schema, spec, old=None):
    before = {"spec": old} if old is not None else None
    return [error.message for error in check(CompiledSchema.of(schema), {"spec": spec}, old=before)]


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        pytest.param("my-name", "my__dash__name", id="dash"),
        pytest.param("a.b", "a__dot__b", id="dot"),
        pytest.param("a/b", "a__slash__b", id="slash"),
        pytest.param("a__b", "a__underscores__b", id="underscores"),
        pytest.param("namespace", "__namespace__", id="keyword"),
        pytest.param("plain_1", "plain_1", id="plain"),
    ],
)
def test_names_are_escaped_as_kubernetes_escapes_them(name, identifier):
    """So that every property that can be named has a name."""
    schema = ruled(f"self.{identifier} == 'x'", properties={name: {"type": "string"}})
    assert rule_errors(schema, {name: "x"}) == []
    assert rule_errors(schema, {name: "y"}) != []


def test_numbers_have_their_declared_type():
    """A number is a double even when it is written without a fraction; an integer is an int."""
    properties = {"f": {"type": "number"}, "i": {"type": "integer"}}
    assert (
        rule_errors(
            ruled("self.f / 2.0 == 1.5 && self.i / 2 == 1", properties=properties), {"f": 3, "i": 3.0}
        )
        == []
    )


def test_bytes_are_bytes():
    """A string of format byte is decoded."""
    schema = ruled("self.b == b'abc'", properties={"b": {"type": "string", "format": "byte"}})
    assert rule_errors(schema, {"b": "YWJj"}) == []


def test_a_rule_below_a_map_names_the_key():
    """In brackets, unlike schema errors."""
    properties = {
        "m": {
            "type": "object",
            "additionalProperties": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'x'"}]},
        }
    }
    assert rule_errors(ruled("true", properties=properties), {"m": {"a.b": "x"}}) == [
        "spec.m[a.b]: Invalid value: \"x\": failed rule: self != 'x'"
    ]


def test_a_transition_rule_runs_only_on_an_update():
    """There is nothing to compare with on creation."""
    schema = ruled({"rule": "self.n >= oldSelf.n", "message": "must not shrink"})
    assert rule_errors(schema, {"n": 1}) == []
    assert rule_errors(schema, {"n": 1}, old={"n": 2}) == ["spec: Invalid value: must not shrink"]


def test_an_optional_transition_rule_runs_always():
    """The rule knows whether there is an old value."""
    schema = ruled({"rule": "oldSelf.hasValue() || self.n == 0", "optionalOldSelf": True})
    assert rule_errors(schema, {"n": 1}) != []
    assert rule_errors(schema, {"n": 0}) == []
    assert rule_errors(schema, {"n": 1}, old={"n": 5}) == []


def test_a_rule_can_name_another_field_and_reason():
    """fieldPath and reason shape the cause."""
    schema = ruled(
        {"rule": "self.n > 5", "fieldPath": ".n", "reason": "FieldValueForbidden", "message": "no"}
    )
    (error,) = check(CompiledSchema.of(schema), {"spec": {"n": 1}})
    assert (error.message, error.path) == ("spec.n: Forbidden: no", ("spec", "n"))


def test_a_message_expression_falls_back_to_the_message():
    """When it fails, or says nothing."""
    rule = {"rule": "self.n > 5", "message": "plain", "messageExpression": "self.m['gone']"}
    properties = {
        "n": {"type": "integer"},
        "m": {"type": "object", "additionalProperties": {"type": "string"}},
    }
    assert rule_errors(ruled(rule, properties=properties), {"n": 1, "m": {}}) == [
        "spec: Invalid value: plain"
    ]


def test_a_rule_that_loops_too_much_ends_the_run():
    """With the words of a server whose cost limit is exceeded, and no further rule is asked."""
    properties = {"l": {"type": "array", "items": {"type": "integer"}}}
    loops = "self.l.all(a, self.l.all(b, self.l.all(c, a + b + c > 0)))"
    schema = ruled(loops, properties=properties)
    schema["properties"]["spec"]["x-kubernetes-validations"].append({"rule": "false"})
    (only,) = rule_errors(schema, {"l": [1] * 200})
    assert "no further validation rules will be run due to call cost exceeds limit" in only


def test_rules_share_a_budget():
    """Many rules over one object run out together."""
    item = {
        "type": "string",
        "x-kubernetes-validations": [{"rule": f"self != '{'x' * 900}' && {' && '.join(['true'] * 500)}"}],
    }
    schema = ruled("true", properties={"l": {"type": "array", "items": item}})
    errors = rule_errors(schema, {"l": ["a"] * 10_000})
    assert errors[-1].endswith(
        "validation failed due to running out of cost budget, no further validation rules will be run"
    )


def test_rules_skip_null_values():
    """A rule on a nullable field sees only values."""
    properties = {
        "s": {"type": "string", "nullable": True, "x-kubernetes-validations": [{"rule": "self == 'x'"}]}
    }
    assert rule_errors(ruled("true", properties=properties), {"s": None}) == []


def test_a_rule_may_not_step_outside_its_wrapping():
    """An optional rule is compiled on its own before it is put into a binding."""
    schema = ruled({"rule": "true) || (oldSelf == self", "optionalOldSelf": True})
    assert any("compilation failed" in problem.message for problem in structural_problems(schema))


def test_metadata_is_visible_by_name_only():
    """Labels and the rest belong to Kubernetes."""
    schema = {
        "type": "object",
        "x-kubernetes-validations": [
            {"rule": "self.metadata.name.startsWith('a')"},
            {"rule": "has(self.metadata.labels)"},
        ],
    }
    (problem,) = structural_problems(schema)
    assert "undefined field 'labels'" in problem.message
