import contextlib
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from picokube.schema import (
    CelError,
    CelType,
    CompiledSchema,
    JsonPath,
    JsonPathError,
    SchemaRejected,
    admit,
    check,
    compile_condition,
    structural_problems,
)
from picokube.schema.validation.value_checks import value_errors

quickly = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NAMES = st.sampled_from(["a", "b", "c", "d-e", "metadata", "kind"])
TEXT = st.text(max_size=6)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)


def containers(inner):
    return st.lists(inner, max_size=4) | st.dictionaries(NAMES | TEXT, inner, max_size=4)


JSON = st.recursive(SCALARS, containers, max_leaves=12)


@st.composite
def scalar_schemas(draw):
    kind = draw(st.sampled_from(["string", "integer", "number", "boolean", "either"]))
    schema = {"x-kubernetes-int-or-string": True} if kind == "either" else {"type": kind}
    if draw(st.booleans()):
        schema["nullable"] = True
    if kind == "string":
        schema |= draw(
            st.sampled_from(
                [
                    {},
                    {"maxLength": 3},
                    {"minLength": 2},
                    {"pattern": "^[a-z]*$"},
                    {"enum": ["a", "b"]},
                    {"format": "date-time"},
                    {"default": "a"},
                ]
            )
        )
    if kind in {"integer", "number"}:
        schema |= draw(
            st.sampled_from(
                [
                    {},
                    {"maximum": 5},
                    {"minimum": 1.5},
                    {"maximum": 2.5, "exclusiveMaximum": True},
                    {"minimum": -2.5, "exclusiveMinimum": True},
                    {"multipleOf": 2},
                    {"multipleOf": 0.5},
                    {"enum": [1, 2.5]},
                    {"default": 4},
                ]
            )
        )
    return schema


@st.composite
def object_schemas(draw, inner):
    properties = draw(st.dictionaries(NAMES, inner, min_size=1, max_size=4))
    names = st.sampled_from(sorted(properties))
    schema = {"type": "object", "properties": properties}
    schema |= draw(
        st.sampled_from(
            [
                {},
                {"required": [min(properties)]},
                {"x-kubernetes-preserve-unknown-fields": True},
                {"maxProperties": 1},
                {"nullable": True},
            ]
        )
    )
    branches = st.lists(st.builds(lambda name: {"required": [name]}, names), min_size=1, max_size=3)
    junction = draw(st.sampled_from(["", "anyOf", "oneOf", "allOf", "not"]))
    if junction:
        found = draw(branches)
        schema[junction] = found[0] if junction == "not" else found
    return schema


def nested_schemas(inner):
    return (
        object_schemas(inner)
        | st.builds(lambda item: {"type": "array", "items": item, "maxItems": 3}, inner)
        | st.builds(lambda item: {"type": "object", "additionalProperties": item}, inner)
        | st.just({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"})
    )


SCHEMAS = st.recursive(scalar_schemas(), nested_schemas, max_leaves=6)


def compiled(spec):
    return CompiledSchema.of({"type": "object", "properties": {"spec": spec}})


@quickly
@given(SCHEMAS, JSON)
def test_admission_settles_an_object_at_once(spec, value):
    """Pruning and defaulting what was pruned and defaulted changes nothing and finds nothing unknown."""
    schema = compiled(spec)
    once, _ = admit(schema, {"spec": value})
    twice, unknown = admit(schema, once)
    assert twice == once
    assert unknown == []


@quickly
@given(SCHEMAS, JSON)
def test_the_fast_gate_never_passes_what_the_checks_refuse(spec, value):
    """It may only be stricter: then the checks decide."""
    schema = compiled(spec)
    obj, _ = admit(schema, {"spec": value})
    if schema.gate.is_valid(obj):
        assert value_errors(obj, schema.root) == []


@quickly
@given(SCHEMAS, JSON, JSON)
def test_any_json_can_be_judged(spec, value, old):
    """Against any structural schema, as a creation or an update; every error can be shown and has a path."""
    schema = compiled(spec)
    obj, _ = admit(schema, {"spec": value})
    before, _ = admit(schema, {"spec": old})
    for error in [*check(schema, obj), *check(schema, obj, old=before)]:
        assert error.message
        assert error.path == () or error.path[0] == "spec"


@quickly
@given(SCHEMAS, JSON)
def test_an_update_that_changes_nothing_is_judged_no_harder(spec, value):
    """The same errors would be reported for a new object."""
    schema = compiled(spec)
    obj, _ = admit(schema, {"spec": value})
    again = {error.message for error in check(schema, obj, old=json.loads(json.dumps(obj)))}
    assert again <= {error.message for error in check(schema, obj)}


@quickly
@given(JSON)
def test_any_json_can_be_called_a_schema(value):
    """It has problems then, but it breaks nothing."""
    for problem in structural_problems(value):
        assert problem.message
    if isinstance(value, dict):
        with contextlib.suppress(SchemaRejected):
            CompiledSchema.of(value)


KEYWORDS = [
    "type",
    "items",
    "properties",
    "anyOf",
    "not",
    "enum",
    "default",
    "x-kubernetes-validations",
    "pattern",
]


@quickly
@given(st.dictionaries(st.sampled_from(KEYWORDS), JSON, max_size=4))
def test_keywords_of_any_shape_break_nothing(schema):
    """What people type into a schema is as odd as anything."""
    problems = structural_problems({"type": "object", "properties": {"a": schema}})
    assert all(problem.message for problem in problems)


@quickly
@given(st.text(max_size=40) | st.text(alphabet="steps.['x']()+-*/&|!?: \"\\", max_size=40), JSON)
def test_any_text_is_a_condition_or_an_error(source, value):
    """Never anything else: no crash, no foreign exception."""
    with contextlib.suppress(CelError):
        found = compile_condition(source, {"steps": CelType.DYN})
        found.references("steps")
        assert isinstance(found.evaluate({"steps": value}), bool)


@quickly
@given(st.text(alphabet=".ab[]*?(@)='\"\\{}$0:-,<> ", max_size=20), JSON)
def test_any_text_is_a_path_or_an_error(source, value):
    """And a path can be followed through any JSON."""
    try:
        path = JsonPath.of(source)
    except JsonPathError:
        return
    values = path.values(value)
    assert path.first(value) == (values[0] if values else None)
