# ruff: noqa: E501 - a table of sentences reads best with one case a line
import time

import pytest

from picokube.schema import CompiledSchema, ErrorType, SchemaRejected, admit, check


def schema(**spec):
    return CompiledSchema.of({"type": "object", "properties": {"spec": {"type": "object", **spec}}})


def field(**keywords):
    return schema(properties={"x": keywords})


def messages(compiled, spec, old=None):
    return [
        error.message
        for error in check(compiled, {"spec": spec}, old={"spec": old} if old is not None else None)
    ]


@pytest.mark.parametrize(
    ("keywords", "value", "message"),
    [
        pytest.param({"type": "integer"}, "a", 'spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"', id="type"),
        pytest.param({"type": "string"}, None, 'spec.x: Invalid value: "null": spec.x in body must be of type string: "null"', id="null"),
        pytest.param({"type": "string", "enum": ["a", "b"]}, "z", 'spec.x: Unsupported value: "z": supported values: "a", "b"', id="enum"),
        pytest.param({"type": "integer", "enum": [1, 2]}, 3, 'spec.x: Unsupported value: 3: supported values: "1", "2"', id="enum-of-numbers"),
        pytest.param({"type": "integer", "maximum": 10}, 11, "spec.x: Invalid value: 11: spec.x in body should be less than or equal to 10", id="maximum"),
        pytest.param({"type": "integer", "maximum": 10, "exclusiveMaximum": True}, 10, "spec.x: Invalid value: 10: spec.x in body should be less than 10", id="exclusive-maximum"),
        pytest.param({"type": "number", "minimum": 0.5}, 0.25, "spec.x: Invalid value: 0.25: spec.x in body should be greater than or equal to 0.5", id="minimum"),
        pytest.param({"type": "integer", "multipleOf": 5}, 7, "spec.x: Invalid value: 7: spec.x in body should be a multiple of 5", id="multiple"),
        pytest.param({"type": "string", "maxLength": 1}, "ab", "spec.x: Too long: may not be more than 1 byte", id="too-long"),
        pytest.param({"type": "string", "minLength": 2}, "a", 'spec.x: Invalid value: "a": spec.x in body should be at least 2 chars long', id="too-short"),
        pytest.param({"type": "string", "pattern": "^a+$"}, "b\n", 'spec.x: Invalid value: "b\\n": spec.x in body should match \'^a+$\'', id="pattern"),
        pytest.param({"type": "string", "format": "date-time"}, "soon", 'spec.x: Invalid value: "soon": spec.x in body must be of type date-time: "soon"', id="format"),
        pytest.param({"type": "array", "items": {"type": "string"}, "maxItems": 2}, ["a"] * 3, "spec.x: Too many: 3: must have at most 2 items", id="too-many"),
        pytest.param({"type": "array", "items": {"type": "string"}, "minItems": 2}, ["a"], "spec.x: Invalid value: 1: spec.x in body should have at least 2 items", id="too-few"),
        pytest.param({"type": "array", "items": {"type": "string"}}, ["a", 1], 'spec.x[1]: Invalid value: "integer": spec.x[1] in body must be of type string: "integer"', id="item"),
        pytest.param({"type": "object", "additionalProperties": {"type": "string"}}, {"k.y": 1}, 'spec.x.k.y: Invalid value: "integer": spec.x.k.y in body must be of type string: "integer"', id="map-value"),
        pytest.param({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {}, "spec.x.a: Required value", id="required"),
        pytest.param({"type": "object", "maxProperties": 1, "additionalProperties": {"type": "string"}}, {"a": "", "b": ""}, "spec.x: Too many: 2: must have at most 1 item", id="too-many-fields"),
        pytest.param({"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}}, {}, "spec.x: Invalid value: 0: spec.x in body should have at least 1 properties", id="too-few-fields"),
        pytest.param({"x-kubernetes-int-or-string": True}, True, 'spec.x: Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"', id="int-or-string"),
        pytest.param({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}, ["a", "b", "a", "a"], 'spec.x[2]: Duplicate value: "a"', id="set"),
    ],
)  # fmt: skip
def test_a_broken_field_is_reported_in_kubernetes_words(keywords, value, message):
    """One field, one keyword, one sentence."""
    assert messages(field(**keywords), {"x": value}) == [message]


def test_list_map_duplicates_show_their_keys_and_their_place():
    """Only the second of several errors is reported."""
    compiled = field(
        type="array",
        items={"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}},
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]},
    )
    item = {"a": "x", "b": 1}
    assert messages(compiled, {"x": [item, {"a": "x", "b": 2}, item, item]}) == [
        'spec.x[2]: Duplicate value: {"a":"x","b":1}'
    ]


def test_true_and_one_are_different_members_of_a_set():
    """Python holds them equal; Kubernetes does not."""
    compiled = field(
        type="array",
        items={"x-kubernetes-preserve-unknown-fields": True},
        **{"x-kubernetes-list-type": "set"},
    )
    assert messages(compiled, {"x": [1, True, "1", 1.5]}) == []


@pytest.mark.parametrize(
    ("junction", "value", "expected"),
    [
        pytest.param(
            {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {},
            ['"spec.x" must validate at least one schema (anyOf)', "spec.x.a: Required value"],
            id="any",
        ),
        pytest.param(
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": 1, "b": 1},
            ['"spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
            id="one",
        ),
        pytest.param(
            {"allOf": [{"required": ["a"]}]},
            {},
            ["spec.x.a: Required value", '"spec.x" must validate all the schemas (allOf). None validated'],
            id="all",
        ),
        pytest.param(
            {"not": {"required": ["a"]}}, {"a": 1}, ['"spec.x" must not validate the schema (not)'], id="not"
        ),
    ],
)
def test_junctions_name_the_field_in_their_sentence(junction, value, expected):
    """They carry no field of their own, but their path still leads to the value."""
    compiled = field(
        type="object", properties={"a": {"type": "integer"}, "b": {"type": "integer"}}, **junction
    )
    errors = check(compiled, {"spec": {"x": value}})
    assert [error.message.removeprefix('<nil>: Invalid value: "": ') for error in errors] == expected
    assert all(error.path[:2] == ("spec", "x") for error in errors)


def test_an_error_leads_to_its_value():
    """The path serves editors; the field serves people."""
    compiled = schema(
        properties={"steps": {"type": "array", "items": {"type": "object", "required": ["name"]}}}
    )
    (error,) = check(compiled, {"spec": {"steps": [{"name": "a"}, {}]}})
    assert (error.field, error.path) == ("spec.steps[1].name", ("spec", "steps", 1, "name"))
    assert error.type == ErrorType.REQUIRED
    assert error.body == "Required value"


def ruled(**keywords):
    return field(**keywords, **{"x-kubernetes-validations": [{"rule": "self > 100", "message": "too small"}]})


def test_a_maximum_does_not_keep_rules_from_running():
    """Both errors are reported."""
    assert messages(ruled(type="integer", maximum=10), {"x": 11}) == [
        "spec.x: Invalid value: 11: spec.x in body should be less than or equal to 10",
        "spec.x: Invalid value: 11: too small",
    ]


@pytest.mark.parametrize(
    ("keywords", "value"),
    [
        pytest.param({"type": "integer"}, "a", id="type"),
        pytest.param({"type": "integer", "enum": [1]}, 2, id="enum"),
    ],
)
def test_an_error_that_would_break_rules_keeps_them_from_running(keywords, value):
    """And Kubernetes says so, in a cause without a field."""
    last = check(ruled(**keywords), {"spec": {"x": value}})[-1]
    assert last.message == (
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
        "correct the existing errors to complete validation"
    )


def test_an_update_is_forgiven_what_it_leaves_alone():
    """Tightening a schema must not lock objects that already break it."""
    compiled = field(type="integer", maximum=10)
    compiled_two = schema(properties={"x": {"type": "integer", "maximum": 10}, "y": {"type": "string"}})
    assert messages(compiled, {"x": 11}, old={"x": 12}) != []
    assert messages(compiled_two, {"x": 11, "y": "new"}, old={"x": 11, "y": "old"}) == []


def test_items_of_a_map_list_are_followed_by_their_keys():
    """They may move; a changed one is judged, an unchanged one is not."""
    compiled = field(
        type="array",
        items={
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "n": {"type": "integer", "maximum": 10}},
        },
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    old = {"x": [{"name": "a", "n": 11}, {"name": "b", "n": 12}]}
    new = {"x": [{"name": "b", "n": 12}, {"name": "a", "n": 13}]}
    assert messages(compiled, new, old=old) == [
        "spec.x[1].n: Invalid value: 13: spec.x[1].n in body should be less than or equal to 10"
    ]


def test_duplicates_that_were_there_before_may_stay():
    """A list that already had some is not held against an update."""
    compiled = field(type="array", items={"type": "string"}, **{"x-kubernetes-list-type": "set"})
    assert messages(compiled, {"x": ["b", "b"]}, old={"x": ["a", "a"]}) == []
    assert messages(compiled, {"x": ["b", "b"]}, old={"x": ["a"]}) != []


def test_wide_lists_take_linear_time():
    """Ten thousand keyed items are admitted and judged well within a second."""
    compiled = field(
        type="array",
        items={
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string", "default": "q"}},
        },
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )
    obj = {"spec": {"x": [{"name": f"n{i}"} for i in range(10_000)]}}
    started = time.monotonic()
    admitted, _ = admit(compiled, obj)
    assert check(compiled, admitted) == []
    assert time.monotonic() - started < 3


def nested(levels):
    value = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"free": nested(20_000)}, id="preserved"),
        pytest.param({"unknown": nested(20_000)}, id="pruned"),
        pytest.param({"text": nested(20_000)}, id="wrong-type"),
        pytest.param({"set": [nested(20_000), nested(20_000)]}, id="set"),
    ],
)
def test_deep_objects_are_no_danger(spec):
    """A walk goes as deep as the schema does, never as deep as the object."""
    compiled = schema(
        properties={
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "text": {"type": "string"},
            "set": {
                "type": "array",
                "x-kubernetes-list-type": "set",
                "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        }
    )
    admitted, _ = admit(compiled, {"spec": spec, "metadata": nested(20_000)})
    for error in check(compiled, admitted, old=admitted):
        assert error.message


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        pytest.param({"properties": []}, "properties must be dict", id="shape"),
        pytest.param({"properties": {"a": {"pattern": "["}}}, "cannot be compiled", id="pattern"),
        pytest.param({"x-kubernetes-validations": ["x"]}, "must hold objects", id="rules"),
        pytest.param({"required": [1]}, "must hold strings", id="required"),
    ],
)
def test_a_schema_that_cannot_be_compiled_is_refused(broken, words):
    """With the place and what was expected there."""
    with pytest.raises(SchemaRejected, match=words):
        CompiledSchema.of({"type": "object", **broken})


def test_a_schema_that_nests_too_deep_is_refused():
    """Every walk over an object recurses as deep as its schema."""
    deep = {"type": "string"}
    for _ in range(200):
        deep = {"type": "object", "properties": {"a": deep}}
    with pytest.raises(SchemaRejected, match="deeper"):
        CompiledSchema.of(deep)


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        pytest.param({}, ["spec.x.apiVersion: Required value", "spec.x.kind: Required value"], id="nothing"),
        pytest.param(
            {"apiVersion": "a/b/c", "kind": ""},
            [
                'spec.x.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
                'spec.x.kind: Invalid value: "": must not be empty',
            ],
            id="malformed",
        ),
        pytest.param({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}, [], id="well-formed"),
    ],
)
def test_an_embedded_resource_must_look_like_one(resource, expected):
    """apiVersion and kind are required, and its metadata survives pruning."""
    compiled = field(
        type="object",
        **{"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
    )
    admitted, unknown = admit(compiled, {"spec": {"x": resource}})
    assert admitted == {"spec": {"x": resource}}
    assert not unknown
    assert messages(compiled, {"x": resource}) == expected
