# ruff: noqa: E501 - a table of sentences reads best with one case a line
import pytest

from picokube.schema import structural_problems, unknown_keywords

ROOT = "spec.validation.openAPIV3Schema"


def problems(spec):
    schema = {"type": "object", "properties": {"spec": spec}}
    return [
        structural_problem.message.removeprefix(f"{ROOT}.properties[spec].")
        for structural_problem in structural_problems(schema)
    ]


LIST_TYPE, KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
ITEM = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, "type: Required value: must not be empty for specified object fields", id="no-type"),
        pytest.param({"type": "array"}, "items: Required value: must be specified", id="no-items"),
        pytest.param({"type": "array", "items": {}}, "items.type: Required value: must not be empty for specified array items", id="no-item-type"),
        pytest.param({"type": "string", "$ref": "#/a"}, "$ref: Forbidden: $ref is not supported", id="ref"),
        pytest.param({"type": "string", "definitions": {"a": {}}}, "definitions: Forbidden: definitions is not supported", id="definitions"),
        pytest.param({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, "uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic", id="unique-items"),
        pytest.param({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}, "additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive", id="both-kinds-of-properties"),
        pytest.param({"type": "object", "anyOf": [{"type": "object"}]}, "anyOf[0].type: Forbidden: must be empty to be structural", id="type-in-a-junction"),
        pytest.param({"type": "object", "not": {"description": "x"}}, "not.description: Forbidden: must be empty to be structural", id="description-in-a-junction"),
        pytest.param({"type": "string", "default": 1}, 'default: Invalid value: "integer":  in body must be of type string: "integer"', id="default-of-the-wrong-type"),
        pytest.param({"type": "object", "default": {"a": 1}}, 'default: Invalid value: {"a":1}: must not have unknown fields', id="default-with-unknown-fields"),
        pytest.param({"type": "array", "items": ITEM, LIST_TYPE: "map"}, f"{KEYS}: Required value: must not be empty if {LIST_TYPE} is map", id="map-without-keys"),
        pytest.param({"type": "array", "items": ITEM, LIST_TYPE: "map", KEYS: ["id"]}, f'{KEYS}: Invalid value: ["id"]: entries must all be names of item properties', id="key-that-is-no-field"),
        pytest.param({"type": "array", "items": {**ITEM, "required": []}, LIST_TYPE: "map", KEYS: ["name"]}, f"items.properties[name].default: Required value: this property is in {KEYS}, so it must have a default or be a required property", id="optional-key"),
        pytest.param({"type": "array", "items": ITEM, LIST_TYPE: "set"}, "items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set", id="set-of-objects"),
        pytest.param({"type": "string", LIST_TYPE: "atomic"}, f'type: Invalid value: "string": must be array if {LIST_TYPE} is specified', id="list-type-of-a-string"),
        pytest.param({"type": "text"}, 'type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"', id="unknown-type"),
        pytest.param({"type": "object", "x-kubernetes-validations": [{"rule": ""}]}, "x-kubernetes-validations[0].rule: Required value: rule is not specified", id="empty-rule"),
        pytest.param({"type": "object", "x-kubernetes-validations": [{"rule": "true", "reason": "Odd"}]}, 'x-kubernetes-validations[0].reason: Unsupported value: "Odd": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"', id="unknown-reason"),
        pytest.param({"type": "string", "pattern": "["}, "pattern: Invalid value: \"[\": must be a valid regular expression, but isn't: error parsing regexp: missing closing ]: `[`", id="pattern"),
    ],
)  # fmt: skip
def test_what_is_not_structural_is_refused(spec, expected):
    """With the path Kubernetes gives, whatever version the schema was sent under."""
    assert expected in problems(spec)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"type": "string"}, id="plain"),
        pytest.param({"x-kubernetes-int-or-string": True}, id="int-or-string"),
        pytest.param(
            {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            id="int-or-string-spelled-out",
        ),
        pytest.param({"x-kubernetes-preserve-unknown-fields": True}, id="anything"),
        pytest.param({"type": "array", "items": ITEM, LIST_TYPE: "map", KEYS: ["name"]}, id="map-list"),
        pytest.param(
            {"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]},
            id="junction",
        ),
    ],
)
def test_a_structural_schema_has_no_problems(spec):
    """The shapes people use."""
    assert problems(spec) == []


def test_metadata_may_only_restrict_names():
    """The rest of metadata is Kubernetes' own."""
    metadata = {"type": "object", "properties": {"labels": {"type": "object"}}}
    schema = {"type": "object", "properties": {"metadata": metadata}}
    (problem,) = structural_problems(schema)
    assert problem.message == (
        f"{ROOT}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, "
        "but metadata is implicitly specified"
    )
    metadata["properties"] = {"name": {"type": "string", "maxLength": 10}}
    assert structural_problems(schema) == []


def test_a_junction_at_the_root_speaks_only_of_described_fields():
    """Like upstream, only the root is checked."""
    junction = [{"properties": {"a": {"minLength": 1}}}]
    (problem,) = structural_problems({"type": "object", "allOf": junction})
    assert problem.message == (
        f"{ROOT}.properties[a]: Required value: because it is defined in {ROOT}.allOf[0].properties[a]"
    )
    assert problems({"type": "object", "allOf": junction}) == []


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param([], id="list"),
        pytest.param({"properties": []}, id="properties"),
        pytest.param({"properties": {"a": 1}}, id="property"),
        pytest.param({"anyOf": {}}, id="junction"),
        pytest.param({"required": [1]}, id="required"),
        pytest.param({"type": ["string"]}, id="type"),
        pytest.param({"x-kubernetes-validations": [1]}, id="rules"),
        pytest.param({"minLength": True}, id="truth-for-a-number"),
    ],
)
def test_json_of_the_wrong_shape_is_a_problem_not_a_crash(schema):
    """A server refuses it while reading; lint should say where."""
    assert structural_problems(schema)


def test_a_problem_leads_into_the_schema():
    """So that the line in a file can be found."""
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {}}}}
    (problem,) = structural_problems(schema)
    assert problem.path == ("properties", "a", "items")


def test_keywords_kubernetes_does_not_know_are_named():
    """A server drops them silently, so a rule that a user relies on would be missing."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "const": "x"}}, "$defs": {}}
    assert [unknown_keyword.field for unknown_keyword in unknown_keywords(schema)] == [
        "$defs",
        "properties.a.const",
    ]
