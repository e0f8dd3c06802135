"""Reading JSON: the same values, flaws and places as YAML, and streams of objects as kubectl takes them."""

import pytest
from lint_cases import flaws, values

from jangar.lint.documents import read_documents
from jangar.lint.source_positions import Position


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            '{"a": [1, -2, 3.5, 1e2, true, false, null, "x"], "b": {}, "c": []}',
            [{"a": [1, -2, 3.5, 100.0, True, False, None, "x"], "b": {}, "c": []}],
            id="every-type",
        ),
        pytest.param('{"a": 1}\n{"a": 2} {"a": 3}', [{"a": 1}, {"a": 2}, {"a": 3}], id="stream"),
        pytest.param('{"a": "\\u00e9\\ud83d\\ude00\\n\\/"}', [{"a": "é😀\n/"}], id="escapes"),
        pytest.param('{\n\t"a": 1\n}', [{"a": 1}], id="tabs"),
        pytest.param("{a: 1, b: on}", [{"a": 1, "b": True}], id="flow-yaml"),
        pytest.param('{"a": 1}\n---\n{"a": 2}', [{"a": 1}, {"a": 2}], id="json-documents-of-yaml"),
        pytest.param('[{"a": 1}]', [[{"a": 1}]], id="list"),
    ],
)
def test_json_has_its_values(text, expected):
    assert flaws(text) == []
    assert values(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"a": 1,\n "a": 2}', ['2:2 DuplicateKey: duplicate key "a"'], id="duplicate-key"),
        pytest.param(
            '{"a": 1,}',
            ["1:9 InvalidSyntax: not valid JSON: expected a key in double quotes, found '}'"],
            id="last-comma",
        ),
        pytest.param(
            '{"a" 1}', ["1:6 InvalidSyntax: not valid JSON: expected a colon, found '1'"], id="no-colon"
        ),
        pytest.param(
            '{"a": [1 2]}',
            ["1:10 InvalidSyntax: not valid JSON: expected a comma or ], found '2'"],
            id="no-comma",
        ),
        pytest.param(
            '{"a": ', ["1:7 InvalidSyntax: not valid JSON: expected a value, found the end"], id="cut-off"
        ),
        pytest.param(
            '{"a": NaN}',
            ["1:7 InvalidSyntax: not valid JSON: expected a value, a key or a bracket, found 'N'"],
            id="nan",
        ),
        pytest.param(
            '{"a": "\\ud800"}',
            ["1:7 InvalidSyntax: not valid JSON: expected a string with valid escapes, found '\"'"],
            id="half-a-pair",
        ),
        pytest.param(
            '{"a": 9223372036854775808}',
            ["1:7 InvalidNumber: the number does not fit in 64 bits"],
            id="beyond-64-bits",
        ),
        pytest.param('{"a": 1e999}', ["1:7 InvalidNumber: the number is too large"], id="beyond-float"),
    ],
)
def test_a_flaw_of_json_is_reported_with_its_place(text, expected):
    assert flaws(text, is_json=True) == expected


def test_fields_of_json_have_places():
    document = read_documents(b'{"spec":\n  {"steps": [{"name": "a"},\n {"name": "b"}]}}').documents[0]
    assert document.position(("spec", "steps", 1)) == Position(3, 2)
    assert document.position(("spec", "steps", 1, "name")) == Position(3, 3)
