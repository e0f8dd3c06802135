import pytest

from picokube.schema import CompiledSchema, admit


def admitted(spec_schema, spec, **rest):
    compiled = CompiledSchema.of({"type": "object", "properties": {"spec": spec_schema}})
    obj, unknown = admit(compiled, {"spec": spec, **rest})
    return obj.get("spec"), [item.field for item in unknown]


def an_object(**properties):
    return {"type": "object", "properties": properties}


TEXT = {"type": "string"}
PRESERVING = {"x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("schema", "spec", "kept", "unknown"),
    [
        pytest.param(an_object(a=TEXT), {"a": "x", "b": 1}, {"a": "x"}, ["spec.b"], id="field"),
        pytest.param(
            an_object(l={"type": "array", "items": an_object(a=TEXT)}),
            {"l": [{"a": "x"}, {"b": 1, "c": 2}]},
            {"l": [{"a": "x"}, {}]},
            ["spec.l[1].b", "spec.l[1].c"],
            id="in-a-list",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": an_object(a=TEXT)},
            {"k": {"a": "x", "b": 1}},
            {"k": {"a": "x"}},
            ["spec.k.b"],
            id="in-a-map",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": True},
            {"k": {"b": 1}},
            {"k": {}},
            ["spec.k.b"],
            id="any-map",
        ),
        pytest.param(
            {**an_object(a=an_object(x=TEXT)), **PRESERVING},
            {"a": {"x": "1", "y": 2}, "b": {"c": 1}},
            {"a": {"x": "1"}, "b": {"c": 1}},
            ["spec.a.y"],
            id="preserved-but-not-below-a-named-field",
        ),
        pytest.param(
            {"type": "object", **PRESERVING}, {"l": [[{"a": 1}]]}, {"l": [[{"a": 1}]]}, [], id="preserved"
        ),
        pytest.param(
            an_object(l={"type": "array"}),
            {"l": [[{"a": 1}], 2]},
            {"l": [[{}], 2]},
            ["spec.l[0][0].a"],
            id="no-items",
        ),
        pytest.param(
            an_object(), {"metadata": 1}, {}, ["spec.metadata"], id="metadata-is-only-special-at-the-root"
        ),
    ],
)
def test_unknown_fields_are_dropped_and_named(schema, spec, kept, unknown):
    """With the messages of fieldValidation=Strict."""
    assert admitted(schema, spec) == (kept, unknown)


def test_metadata_of_the_resource_is_left_to_the_caller():
    """It is copied, so that the caller may change it."""
    given = {"apiVersion": "a/v1", "kind": "K", "metadata": {"labels": {"a": "b"}}, "odd": 1}
    obj, unknown = admit(CompiledSchema.of({"type": "object"}), given)
    obj["metadata"]["labels"]["a"] = "changed"
    assert given["metadata"]["labels"]["a"] == "b"
    assert [item.message for item in unknown] == ['unknown field "odd"']
    assert unknown[0].path == ("odd",)


@pytest.mark.parametrize(
    ("schema", "spec", "expected"),
    [
        pytest.param(an_object(a={**TEXT, "default": "d"}), {}, {"a": "d"}, id="missing"),
        pytest.param(an_object(a={**TEXT, "default": "d"}), {"a": None}, {"a": "d"}, id="null-is-replaced"),
        pytest.param(
            an_object(a={**TEXT, "default": "d", "nullable": True}),
            {"a": None},
            {"a": None},
            id="nullable-null-stays",
        ),
        pytest.param(an_object(a=TEXT), {"a": None}, {}, id="null-without-default-is-dropped"),
        pytest.param(
            an_object(a={**an_object(b={**TEXT, "default": "d"}), "default": {}}),
            {},
            {"a": {"b": "d"}},
            id="nested",
        ),
        pytest.param(an_object(a=an_object(b={**TEXT, "default": "d"})), {}, {}, id="no-parent-no-default"),
        pytest.param(
            an_object(l={"type": "array", "items": an_object(b={**TEXT, "default": "d"})}),
            {"l": [{}, {"b": "x"}]},
            {"l": [{"b": "d"}, {"b": "x"}]},
            id="items",
        ),
        pytest.param(
            an_object(l={"type": "array", "items": {**TEXT, "default": "d"}}),
            {"l": [None, "x"]},
            {"l": ["d", "x"]},
            id="null-items",
        ),
        pytest.param(
            an_object(l={"type": "array", "items": TEXT}), {"l": [None]}, {"l": [None]}, id="null-item-stays"
        ),
        pytest.param(
            {"type": "object", "additionalProperties": {**TEXT, "default": "d"}},
            {"k": None, "j": "x"},
            {"k": "d", "j": "x"},
            id="map-values",
        ),
        pytest.param({"type": "object", "additionalProperties": TEXT}, {"k": None}, {}, id="null-map-values"),
        pytest.param(an_object(a={"type": "integer", "default": 0}), {}, {"a": 0}, id="zero"),
        pytest.param(an_object(a={"type": "boolean", "default": False}), {}, {"a": False}, id="false"),
    ],
)
def test_nulls_and_defaults_are_settled_as_a_server_does(schema, spec, expected):
    """A null counts as missing unless the field is nullable."""
    assert admitted(schema, spec) == (expected, [])


def test_a_default_is_never_shared_between_objects():
    """Changing one object must not change the schema."""
    compiled = CompiledSchema.of(
        {"type": "object", "properties": {"l": {"type": "array", "items": TEXT, "default": ["a"]}}}
    )
    first, _ = admit(compiled, {})
    first["l"].append("b")
    assert admit(compiled, {})[0] == {"l": ["a"]}


def test_the_given_object_is_not_changed():
    """Admission makes a copy."""
    given = {"spec": {"a": None, "b": [{"c": 1}]}}
    admitted(an_object(a=TEXT, b={"type": "array", "items": an_object()}), given["spec"])
    assert given == {"spec": {"a": None, "b": [{"c": 1}]}}
