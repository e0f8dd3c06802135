"""How one pydantic field becomes one structural schema."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import ConfigDict, Field

from jangar.api.meta import LIST_ATOMIC, OPEN, ApiModel, Int32, list_map, rule, validations
from jangar.crdgen.structural import NotExpressible, RecursiveModel, structural_schema


class Color(StrEnum):
    """A color."""

    RED = "Red"
    BLUE = "Blue"


class Inner(ApiModel):
    """An inner
    object.

    With a second paragraph.
    """

    model_config = ConfigDict(json_schema_extra=validations(rule("self.a != ''", "a is set")))

    a: str = Field(description="The a.")


ANY_NUMBER_OR_NEVER = validations(rule("type(self) == int || self == 'never'", "a number or never"))
STRING = {"type": "string"}


def schema_of(annotation: Any, default: Any = ..., **field: Any) -> dict[str, Any]:
    """The schema of one field, and whether it is required."""
    model = type("Model", (ApiModel,), {"__annotations__": {"x": annotation}, "x": Field(default, **field)})
    found = structural_schema(model)
    return found["properties"]["x"] | {"required?": "x" in found.get("required", ())}


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        pytest.param(str, STRING, id="string"),
        pytest.param(bool, {"type": "boolean"}, id="boolean"),
        pytest.param(float, {"type": "number"}, id="number"),
        pytest.param(Int32, {"type": "integer", "format": "int32"}, id="int32"),
        pytest.param(datetime, {"type": "string", "format": "date-time"}, id="datetime"),
        pytest.param(Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, id="literal"),
        pytest.param(Literal["a"], {"type": "string", "enum": ["a"]}, id="const-is-an-enum-of-one"),
        pytest.param(list[str], {"type": "array", "items": STRING}, id="list"),
        pytest.param(dict[str, str], {"type": "object", "additionalProperties": STRING}, id="map"),
        pytest.param(dict[str, Any], {"type": "object", **OPEN}, id="free-object-is-open"),
        pytest.param(Any, OPEN, id="any-value-is-open"),
        pytest.param(
            int | str,
            {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
            id="int-or-string",
        ),
        pytest.param(
            Annotated[int, Field(gt=0, lt=9)],
            {
                "type": "integer",
                "minimum": 0,
                "exclusiveMinimum": True,
                "maximum": 9,
                "exclusiveMaximum": True,
            },
            id="exclusive-bounds-are-booleans",
        ),
        pytest.param(
            Annotated[str, Field(min_length=1, max_length=5, pattern="^a")],
            {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^a"},
            id="string-bounds",
        ),
    ],
)
def test_a_type_has_one_schema_whether_optional_or_not(annotation, expected):
    """Optional changes only whether the field is required: null is not a value."""
    assert schema_of(annotation) == expected | {"required?": True}
    assert schema_of(annotation | None if annotation is not Any else Any, None) == expected | {
        "required?": False
    }


def test_a_narrowed_int_or_string_keeps_the_rule_that_narrows_it():
    found = schema_of(int | Literal["never"] | None, None, json_schema_extra=ANY_NUMBER_OR_NEVER)
    assert found == {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
        **ANY_NUMBER_OR_NEVER,
        "required?": False,
    }


def test_the_fields_own_description_wins_over_that_of_its_type():
    assert schema_of(Color | None, None, description="Of the wall.") == {
        "description": "Of the wall.",
        "type": "string",
        "enum": ["Red", "Blue"],
        "required?": False,
    }


def test_items_are_described_by_their_type_with_line_ends_removed():
    items = schema_of(list[Inner], description="Several.")["items"]
    assert items["description"] == "An inner object.\n\nWith a second paragraph."


def test_extensions_are_passed_through():
    found = schema_of(list[Inner] | None, None, json_schema_extra=list_map("a"))
    assert found["x-kubernetes-list-type"] == "map"
    assert found["x-kubernetes-list-map-keys"] == ["a"]


def test_rules_of_a_field_are_added_to_those_of_its_type():
    found = schema_of(Inner | None, None, json_schema_extra=validations(rule("self.a != 'b'", "a is not b")))
    assert [item["message"] for item in found["x-kubernetes-validations"]] == ["a is set", "a is not b"]


def test_rules_of_a_field_stay_with_that_field():
    class Model(ApiModel):
        ruled: Inner = Field(json_schema_extra=validations(rule("self.a != 'b'", "a is not b")))
        plain: Inner

    properties = structural_schema(Model)["properties"]
    assert len(properties["plain"]["x-kubernetes-validations"]) == 1


def test_an_open_object_still_names_its_fields():
    found = schema_of(Inner | None, None, json_schema_extra=OPEN)
    assert found["x-kubernetes-preserve-unknown-fields"] is True
    assert list(found["properties"]) == ["a"]


@pytest.mark.parametrize("default", [0, "", "text", False])
def test_a_pydantic_default_is_not_a_default_of_the_api_server(default):
    """Reading code assumes it; writing it into users' objects, or into a status, is another matter."""
    found = schema_of(type(default), default)
    assert "default" not in found
    assert found["required?"] is False


def test_an_explicit_default_is_a_default_of_the_api_server():
    assert schema_of(Int32, 3, json_schema_extra={"default": 3})["default"] == 3


def test_fields_named_like_keywords_are_fields():
    class Model(ApiModel):
        title: str
        default: str | None = None
        enum: list[str] | None = Field(None, json_schema_extra=LIST_ATOMIC)
        required: bool | None = None

    found = structural_schema(Model)
    assert list(found["properties"]) == ["title", "default", "enum", "required"]
    assert found["required"] == ["title"]


class Tree(ApiModel):
    """A tree."""

    children: list["Tree"] | None = None


def test_a_recursive_model_is_refused_by_path_and_name():
    with pytest.raises(RecursiveModel, match=r"^Tree\.children\[\]: Tree -> Tree contains itself"):
        structural_schema(Tree)


@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        pytest.param(Inner | Color, "only int | str is a possible union", id="union-of-objects"),
        pytest.param(bool | str, "only int | str is a possible union", id="union-of-scalars"),
        pytest.param(int | Literal["never"], "add a CEL rule", id="narrowed-union-without-a-rule"),
        pytest.param(set[str], "use a list with LIST_SET", id="set"),
        pytest.param(tuple[int, str], "a tuple is not possible", id="tuple"),
        pytest.param(dict[Color, str], "keys cannot be constrained", id="map-with-constrained-keys"),
        pytest.param(Literal["a", 1], "must be of one type", id="enum-of-mixed-types"),
        pytest.param(
            Annotated[str, Field(json_schema_extra={"examples": ["a"]})],
            "has no keyword examples",
            id="keyword-that-crds-lack",
        ),
    ],
)
def test_what_a_structural_schema_cannot_say_is_refused_by_path(annotation, problem):
    with pytest.raises(NotExpressible) as refused:
        schema_of(annotation)
    assert refused.value.path.startswith("Model.x")
    assert problem in refused.value.problem
