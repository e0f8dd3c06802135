"""Each unchecked format gets one warning, wherever it occurs."""

import pytest

from picokube.apiserver.strategies.crds.definition import format_warnings

ODD = {"type": "string", "format": "odd"}


def a_definition(*schemas):
    return {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}} for schema in schemas]}}


@pytest.mark.parametrize(
    "schema",
    [
        ODD,
        {"properties": {"a": ODD}},
        {"items": {"additionalProperties": ODD}},
        {"anyOf": [{"not": ODD}]},
        {"properties": {"a": ODD, "b": ODD}},
    ],
)
def test_an_unknown_format_is_found_at_any_depth(schema):
    assert format_warnings(a_definition(schema, schema), None) == ['unrecognized format "odd"']


@pytest.mark.parametrize(
    "schema",
    [{"type": "string", "format": "date-time"}, {"type": "integer", "format": "odd"}, {}],
)
def test_known_formats_and_those_of_other_types_are_not_reported(schema):
    assert format_warnings(a_definition(schema), None) == []


def test_what_was_there_before_is_not_reported_again():
    more = {"properties": {"a": ODD, "b": {"type": "string", "format": "odder"}}}
    assert format_warnings(a_definition(more), a_definition(ODD)) == ['unrecognized format "odder"']
